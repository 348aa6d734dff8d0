"""The endpoints of Services: who stands behind them, as EndpointSlices and as the older Endpoints."""

from kubewright.controlplane.endpoints.endpoints import endpoints_loop
from kubewright.controlplane.endpoints.endpointslice import endpointslice_loop

__all__ = ["endpoints_loop", "endpointslice_loop"]
