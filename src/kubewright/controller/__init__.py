"""The loop: a controller's sources, queue and workers, and what a reconcile has at hand."""

from kubewright.controller.batch import slow_start
from kubewright.controller.claim import claim
from kubewright.controller.context import Context, NamespacedCache
from kubewright.controller.controller import Controller
from kubewright.controller.daemon import Daemon
from kubewright.controller.expectations import Expectations
from kubewright.controller.finalizer import finalizer_name
from kubewright.controller.log import ContextLogger, current_fields
from kubewright.controller.mapping import OWNER_ANNOTATION, OWNER_LABEL, KeysOf, Watch
from kubewright.controller.predicate import (
    Predicate,
    annotations_changed,
    generation_changed,
    labels_changed,
    resource_version_changed,
    where,
)
from kubewright.controller.running import RunningController
from kubewright.controller.source import Channel, Poller, Source, Timer, Wake

__all__ = [
    "OWNER_ANNOTATION",
    "OWNER_LABEL",
    "Channel",
    "Context",
    "ContextLogger",
    "Controller",
    "Daemon",
    "Expectations",
    "KeysOf",
    "NamespacedCache",
    "Poller",
    "Predicate",
    "RunningController",
    "Source",
    "Timer",
    "Wake",
    "Watch",
    "annotations_changed",
    "claim",
    "current_fields",
    "finalizer_name",
    "generation_changed",
    "labels_changed",
    "resource_version_changed",
    "slow_start",
    "where",
]
