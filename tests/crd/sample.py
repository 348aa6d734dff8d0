"""A kind with every sort of field that there is."""

from __future__ import annotations

import enum
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Generic, Literal, NewType, TypeVar
from uuid import UUID

import msgspec

from kubewright.api import (
    LabelSelector,
    ListMap,
    ListSet,
    MicroTime,
    Model,
    Quantity,
    Resource,
    Status,
    UnsetType,
    field,
)
from kubewright.kinds.core_v1 import Container, PersistentVolumeClaim, PodTemplateSpec, ServicePort

Slug = NewType("Slug", str)
T = TypeVar("T")


class Colour(enum.StrEnum):
    RED = "Red"
    GREEN = "Green"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Tree(Model):
    """A tree of trees."""

    name: str
    children: Annotated[list[Tree], ListMap("name")] = []


class Box(Model, Generic[T]):
    content: T


class Cat(Model, tag="cat"):
    lives: int


class Dog(Model, tag="dog"):
    tricks: list[str] = []


class Component(Model):
    name: str
    """How it is called.

    Only the first paragraph is shown.
    """
    replicas: Annotated[int, msgspec.Meta(ge=0, le=100, extra_json_schema={"format": "int32"})] = 1


class Everything(Model):
    text: str
    number: int
    ratio: float = 0.5
    flag: bool = False
    secret: bytes | None = None
    when: datetime | None = None
    precisely: MicroTime | None = None
    day: date | None = None
    pause: timedelta | None = None
    price: Decimal | None = None
    token: UUID | None = None
    memory: Quantity | None = None
    port: int | str | None = None
    amount: int | float | None = None
    colour: Colour = Colour.RED
    level: Level | None = None
    policy: Literal["Always", "Never"] | None = None
    choice: Literal["a", "b"] | None
    maybe: str | UnsetType | None = msgspec.UNSET
    slug: Annotated[Slug, msgspec.Meta(pattern="^[a-z-]+$", min_length=2, max_length=20)] = Slug("ab")
    share: Annotated[float, msgspec.Meta(gt=0, lt=1, multiple_of=0.25)] | None = None
    names: Annotated[list[str], ListSet(), msgspec.Meta(max_length=10)] = []
    tags: set[str] | None = None
    pair: tuple[int, str] | None = None
    row: tuple[int, ...] = ()
    labels: dict[str, str] = {}
    limits: dict[str, Quantity] = {}
    anything: Any = None
    raw: msgspec.Raw | UnsetType = msgspec.UNSET
    free: dict[str, Any] = {}
    mixed: Component | bool | None = None
    either: Cat | Dog | None = None
    components: Annotated[list[Component], ListMap("name")] = []
    tree: Tree | None = None
    box: Box[int] | None = None
    cat: Cat | None = None
    cluster_ip: str | None = field(default=None, name="clusterIP")
    template: PodTemplateSpec | None = None
    containers: Annotated[list[Container], ListMap("name")] = []
    ports: Annotated[list[ServicePort], ListMap("port", "protocol")] = []
    claim: PersistentVolumeClaim | None = None
    selector: LabelSelector | None = None
    defaulted: Annotated[int, msgspec.Meta(extra_json_schema={"default": 3})] = 3
    ruled: Annotated[int, msgspec.Meta(extra_json_schema={"x-kubernetes-validations": [{"rule": "self % 2 == 0"}]})] = 0


class SampleStatus(Status):
    observed: dict[str, int] = {}


class Sample(Resource, group="crd.example.com", version="v1alpha1", short_names=("smp",), categories=("all",)):
    """A sample of everything."""

    spec: Everything
    status: SampleStatus = SampleStatus()
