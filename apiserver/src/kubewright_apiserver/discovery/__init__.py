"""What the server says of itself: discovery, OpenAPI, version, health."""

from kubewright_apiserver.discovery.documents import Discovery
from kubewright_apiserver.discovery.metrics import metrics_of

__all__ = ["Discovery", "metrics_of"]
