"""The CRDs that an operator needs, and putting them in place."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import TYPE_CHECKING

from kubewright.client import Client

if TYPE_CHECKING:
    from kubewright.kinds.apiextensions_v1 import CustomResourceDefinition
    from kubewright.operator.blueprint import Blueprint

__all__ = ["install_crds"]

_log = logging.getLogger("kubewright.operator")


async def install_crds(client: Client, operator: Blueprint, *, within: timedelta = timedelta(seconds=30)) -> None:
    """Apply the CRDs of the operator's kinds, and wait until they are served."""
    from kubewright.crd import crd_of
    from kubewright.kinds.apiextensions_v1 import CustomResourceDefinition

    for kind in operator.custom_kinds:
        crd = crd_of(kind)
        await client.apply(crd, force=True)
        await client.wait_until(CustomResourceDefinition, crd.name, _is_established, within=within)
        _log.info("CRD %s is served", crd.name)


def _is_established(crd: CustomResourceDefinition) -> bool:
    return any(entry.type == "Established" and entry.status == "True" for entry in crd.status.conditions)
