"""What a kind's definition says beyond its fields: columns of ``kubectl get``, and where its number of replicas is."""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = ["Column", "ScalePaths"]


class Column(msgspec.Struct, frozen=True):
    """A column of ``kubectl get``; ``path`` is a JSON path such as ``.spec.size``.

    >>> class PodSet(Resource, group="apps.jicki.cn", version="v1", columns=[Column("Size", ".spec.size", "integer")]):
    ...     ...

    ``wide`` ones are shown with ``-o wide`` only.
    """

    name: str
    path: str
    type: Literal["boolean", "date", "integer", "number", "string"] = "string"
    wide: bool = False
    description: str = ""


class ScalePaths(msgspec.Struct, frozen=True, kw_only=True):
    """Where ``kubectl scale`` and autoscalers find the number that is wanted, the number there is, and the pods.

    ``selector`` is the path of a text in the status, such as ``app=a``, by which an autoscaler finds the pods.
    """

    spec: str
    status: str
    selector: str | None = None
