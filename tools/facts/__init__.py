"""Reads the facts about Kubernetes' built-in API from a real API server and from its Go types."""
