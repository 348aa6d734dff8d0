"""A Kubernetes API server inside a Python process."""

__version__ = "0.1.0"
