"""Protobuf as Kubernetes speaks it: built-in kinds from bytes to JSON and back, without any library for it."""

from __future__ import annotations

from kubewright_apiserver.protobuf.decoding import Decoder
from kubewright_apiserver.protobuf.encoding import encode, encode_list, sized
from kubewright_apiserver.protobuf.envelope import MAGIC, Envelope, framed, open_envelope, sealed, written_object
from kubewright_apiserver.protobuf.messages import definition_of
from kubewright_apiserver.protobuf.wire import MalformedProtobuf

__all__ = [
    "MAGIC",
    "Decoder",
    "Envelope",
    "MalformedProtobuf",
    "definition_of",
    "encode",
    "encode_list",
    "framed",
    "open_envelope",
    "sealed",
    "sized",
    "written_object",
]
