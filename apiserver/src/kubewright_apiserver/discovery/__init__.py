"""What the server says of itself: discovery, OpenAPI, version, health."""

from kubewright_apiserver.discovery.documents import Discovery

__all__ = ["Discovery"]
