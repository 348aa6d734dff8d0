"""A kind for the tests of the loop, and short ways to make its objects."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

from kubewright import Context, Controller, Metadata, Model, Operator, Resource, Status
from kubewright.kinds.core_v1 import ConfigMap

Reconcile = Callable[[Any, Context], Coroutine[Any, Any, timedelta | None]]


class SiteSpec(Model):
    text: str = ""
    config: str = ""
    size: int | None = None


class SiteStatus(Status):
    seen: str = ""
    rounds: int = 0


class Site(Resource, group="tests.example.com", version="v1"):
    spec: SiteSpec
    status: SiteStatus | None = None


def site(name: str = "a", **spec: Any) -> Site:
    return Site(metadata=Metadata(name=name), spec=SiteSpec(**spec))


def card(name: str, text: str) -> ConfigMap:
    return ConfigMap(metadata=Metadata(name=name), data={"text": text})


def operator_of(reconcile: Reconcile, **options: Any) -> Operator:
    return Operator("sites", [Controller(Site, reconcile, **options)])


async def write_card(obj: Site, ctx: Context) -> None:
    """A reconcile that keeps one owned ConfigMap."""
    await ctx.apply(card(obj.name, obj.spec.text))
