"""What the server fills in: defaults on decoding, what strategies add, and what is always printed.

The order on a write: ``default`` → admission → ``allocate_service`` → ``prepare_create`` or ``prepare_update`` →
validation → ``fill_printed``. All of it changes the object in place.
"""

from __future__ import annotations

from kubewright_apiserver.defaulting.addresses import Allocation, ServiceAddresses
from kubewright_apiserver.defaulting.context import Context
from kubewright_apiserver.defaulting.creation import prepare_create
from kubewright_apiserver.defaulting.kinds import default
from kubewright_apiserver.defaulting.printed import fill_printed
from kubewright_apiserver.defaulting.service_allocation import allocate_service, ip_address_of
from kubewright_apiserver.defaulting.updating import prepare_update

__all__ = [
    "Allocation",
    "Context",
    "ServiceAddresses",
    "allocate_service",
    "default",
    "fill_printed",
    "ip_address_of",
    "prepare_create",
    "prepare_update",
]
