"""Types of objects: Go's for built-in kinds, OpenAPI's for custom resources; reading, pruning, defaulting, checking."""

from kubewright_apiserver.schema.compiled import CompiledSchema
from kubewright_apiserver.schema.decoding import Decoded, decode, decode_custom, decode_patched, normalise
from kubewright_apiserver.schema.node import ANY, Node, node_of_builtin, node_of_schema

__all__ = [
    "ANY",
    "CompiledSchema",
    "Decoded",
    "Node",
    "decode",
    "decode_custom",
    "decode_patched",
    "node_of_builtin",
    "node_of_schema",
    "normalise",
]
