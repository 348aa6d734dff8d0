"""Lists and watches into indexed memory: what is there, read without ``await``, and handlers for what changes."""

from kubewright.cache.cache import Cache
from kubewright.cache.change import Cause, Change, ChangeType
from kubewright.cache.deltas import Delta, Deltas
from kubewright.cache.entry import Entry, Intake, Owner, Transform
from kubewright.cache.handler import Handler
from kubewright.cache.health import InformerHealth, InformerStatistics, ReflectorHealth
from kubewright.cache.index import Index
from kubewright.cache.informer import Informer
from kubewright.cache.measures import Measures
from kubewright.cache.overlay import Overlay
from kubewright.cache.reflector import Reflector, Target
from kubewright.cache.scope import Scope
from kubewright.cache.store import Store

__all__ = [
    "Cache",
    "Cause",
    "Change",
    "ChangeType",
    "Delta",
    "Deltas",
    "Entry",
    "Handler",
    "Index",
    "Informer",
    "InformerHealth",
    "InformerStatistics",
    "Intake",
    "Measures",
    "Overlay",
    "Owner",
    "Reflector",
    "ReflectorHealth",
    "Scope",
    "Store",
    "Target",
    "Transform",
]
