"""Measures kubewright beside its peers; see README.md."""
