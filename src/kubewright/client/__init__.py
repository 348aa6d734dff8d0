"""The way to an API server: transports, verbs, lists, watches, discovery."""

from kubewright.client.client import Client
from kubewright.client.discovery import Discovery, Inventory, ServedResource
from kubewright.client.http import HttpTransport
from kubewright.client.in_process import Connector, Handler, InProcessTransport
from kubewright.client.listing import Listing, ObjectList, without_collecting
from kubewright.client.options import ALL_NAMESPACES, JsonPatch, MergePatch, Options, Patch, Propagation, StrategicPatch
from kubewright.client.port_forward import ForwardedPort
from kubewright.client.process import Completed, Process
from kubewright.client.retry import RateLimit, Retry
from kubewright.client.transport import Interceptor, Request, Response, Send, Transport, WebSocket
from kubewright.client.watch import Watch, WatchEvent

__all__ = [
    "ALL_NAMESPACES",
    "Client",
    "Completed",
    "Connector",
    "Discovery",
    "ForwardedPort",
    "Handler",
    "HttpTransport",
    "InProcessTransport",
    "Interceptor",
    "Inventory",
    "JsonPatch",
    "Listing",
    "MergePatch",
    "ObjectList",
    "Options",
    "Patch",
    "Process",
    "Propagation",
    "RateLimit",
    "Request",
    "Response",
    "Retry",
    "Send",
    "ServedResource",
    "StrategicPatch",
    "Transport",
    "Watch",
    "WatchEvent",
    "WebSocket",
    "without_collecting",
]
