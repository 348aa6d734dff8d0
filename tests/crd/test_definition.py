"""Definitions of custom kinds, and what the embedded and the real API server make of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec
import pytest

from kubewright.api import (
    Column,
    LabelSelector,
    Metadata,
    MicroTime,
    Model,
    Quantity,
    Resource,
    ScalePaths,
    Status,
    Unstructured,
    to_dict,
)
from kubewright.client import Client, InProcessTransport
from kubewright.config import Config
from kubewright.crd import crd_of
from kubewright.errors import Invalid
from kubewright.kinds.apiextensions_v1 import CustomResourceDefinition
from kubewright.kinds.core_v1 import (
    Container,
    ContainerPort,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    Pod,
    PodSpec,
    PodTemplateSpec,
    ServicePort,
)
from kubewright.testing import RealControlPlane
from kubewright_apiserver import ApiServer
from tests.crd.sample import Box, Cat, Colour, Component, Dog, Everything, Level, Sample, Tree


class Plain(Resource, group="crd.example.com", version="v1", namespaced=False, plural="plainery"):
    size: int = 0


def test_names_and_scope_are_those_of_the_class():
    spec = to_dict(crd_of(Sample))["spec"]

    assert crd_of(Sample).name == "samples.crd.example.com"
    assert spec["scope"] == "Namespaced"
    assert spec["names"] == {
        "plural": "samples",
        "singular": "sample",
        "kind": "Sample",
        "listKind": "SampleList",
        "shortNames": ["smp"],
        "categories": ["all"],
    }


def test_a_status_brings_its_subresource_and_the_column_ready():
    version = crd_of(Sample).spec.versions[0]

    assert version.subresources is not None
    assert version.subresources.status is not None
    assert [column.name for column in version.additional_printer_columns] == ["Ready", "Age"]


def test_a_kind_without_status_has_neither():
    crd = crd_of(Plain)

    assert crd.name == "plainery.crd.example.com"
    assert crd.spec.scope == "Cluster"
    assert crd.spec.versions[0].subresources is None
    assert [column.name for column in crd.spec.versions[0].additional_printer_columns] == ["Age"]


class ScaledStatus(Status):
    found: int = 0
    selector: str = ""


class ScaledSpec(Model):
    lanes: int


class Scaled(
    Resource,
    group="crd.example.com",
    version="v1",
    columns=[Column("Lanes", ".spec.lanes", "integer"), Column("Ready", ".status.found", "integer", wide=True)],
    scale=ScalePaths(spec=".spec.lanes", status=".status.found", selector=".status.selector"),
):
    spec: ScaledSpec
    status: ScaledStatus = ScaledStatus()


def test_columns_of_the_class_come_first_and_take_the_place_of_the_usual_ones():
    columns = crd_of(Scaled).spec.versions[0].additional_printer_columns

    assert [(column.name, column.type, column.priority) for column in columns] == [
        ("Lanes", "integer", None),
        ("Ready", "integer", 1),
        ("Age", "date", None),
    ]


async def check_scale(client: Client) -> None:
    """What ``kubectl scale`` does."""
    await client.create(Scaled(metadata=Metadata(name="till"), spec=ScaledSpec(lanes=1)))

    await client.set_scale(Scaled, "till", 3)

    assert (await client.get(Scaled, "till")).spec.lanes == 3
    await client.delete(Scaled, "till")


def test_the_metadata_is_left_to_kubernetes():
    root: Any = to_dict(crd_of(Sample))["spec"]["versions"][0]["schema"]["openAPIV3Schema"]

    assert root["properties"]["metadata"] == {"type": "object"}
    assert root["required"] == ["spec"]
    assert root["description"] == "A sample of everything."


@pytest.mark.parametrize("kind", [Pod, Unstructured.of("example.com/v1", "Widget")])
def test_a_class_that_is_no_custom_kind_is_refused(kind: type[Resource]):
    with pytest.raises(TypeError, match=kind.__name__):
        crd_of(kind)


@asynccontextmanager
async def embedded_client() -> AsyncIterator[Client]:
    async with ApiServer(listens=False) as server, Client(transport=InProcessTransport(server.handle)) as client:
        yield client


async def install(client: Client, kind: type[Resource]) -> None:
    """Create the definition and wait until it is served."""
    created = await client.create(crd_of(kind))
    async with asyncio.timeout(30):
        async for event in client.watch(CustomResourceDefinition, fields=f"metadata.name={created.name}"):
            if event.type == "BOOKMARK":
                continue
            conditions = {found.type: found for found in event.object.status.conditions}
            assert "NonStructuralSchema" not in conditions, conditions["NonStructuralSchema"].message
            if "Established" in conditions and conditions["Established"].status == "True":
                return


def full() -> Everything:
    container = Container(name="main", image="nginx", ports=[ContainerPort(container_port=80, name="http")])
    template = PodTemplateSpec(metadata=Metadata(labels={"app": "x"}), spec=PodSpec(containers=[container]))
    return Everything(
        text="t",
        number=7,
        secret=b"bytes",
        when=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        precisely=MicroTime(2026, 1, 2, 3, 4, 5, 6),
        day=date(2026, 1, 2),
        pause=timedelta(hours=1),
        price=Decimal("1.50"),
        token=UUID(int=5),
        memory=Quantity("1.5Gi"),
        port="http",
        amount=2,
        colour=Colour.GREEN,
        level=Level.HIGH,
        policy="Never",
        choice=None,
        maybe=None,
        share=0.75,
        names=["a", "b"],
        tags={"one"},
        pair=(1, "x"),
        row=(1, 2, 3),
        labels={"k": "v"},
        limits={"cpu": Quantity("500m")},
        anything={"free": [1, "x", None]},
        raw=msgspec.Raw(b'{"kept":{"deep":1}}'),
        free={"a": {"b": [1]}},
        mixed=True,
        either=Dog(tricks=["roll"]),
        components=[Component(name="web", replicas=3)],
        tree=Tree(name="root", children=[Tree(name="leaf")]),
        box=Box(content=3),
        cat=Cat(lives=9),
        cluster_ip="10.0.0.1",
        template=template,
        containers=[container],
        ports=[ServicePort(port=80)],
        claim=PersistentVolumeClaim(metadata=Metadata(name="data"), spec=PersistentVolumeClaimSpec()),
        selector=LabelSelector(match_labels={"app": "x"}),
        ruled=4,
    )


def without_key_defaults(spec: dict[str, Any]) -> dict[str, Any]:
    """The spec without the protocol of ports, which the server fills in as a key of a list-map."""
    for port in [*spec["ports"], *(port for found in _containers(spec) for port in found["ports"])]:
        port.pop("protocol", None)
    return spec


def _containers(spec: dict[str, Any]) -> list[dict[str, Any]]:
    return [*spec["containers"], *spec["template"]["spec"]["containers"]]


async def check_round_trip(client: Client) -> None:
    wanted = to_dict(Sample(metadata=Metadata(name="full"), spec=full()))["spec"]

    await client.using(field_validation="Strict").create(Sample(metadata=Metadata(name="full"), spec=full()))
    read = await client.get(Unstructured.of("crd.example.com/v1alpha1", "Sample", plural="samples"), "full")
    typed = await client.get(Sample, "full")

    assert without_key_defaults(read["spec"]) == wanted
    assert typed.spec.template is not None
    assert typed.spec.template.metadata.labels == {"app": "x"}
    assert typed.spec.memory == Quantity("1.5Gi")


BROKEN: list[tuple[dict[str, Any], str]] = [
    ({"number": 1, "choice": "a"}, "spec.text"),
    ({"text": "t", "number": "x", "choice": "a"}, "spec.number"),
    ({"text": "t", "number": 1, "choice": "a", "policy": "Sometimes"}, "spec.policy"),
    ({"text": "t", "number": 1, "choice": "a", "slug": "A"}, "spec.slug"),
    ({"text": "t", "number": 1, "choice": "a", "share": 1}, "spec.share"),
    ({"text": "t", "number": 1, "choice": "a", "memory": "a lot"}, "spec.memory"),
    ({"text": "t", "number": 1, "choice": "a", "names": ["x", "x"]}, "spec.names"),
    ({"text": "t", "number": 1, "choice": "a", "components": [{"name": "x"}, {"name": "x"}]}, "spec.components"),
    ({"text": "t", "number": 1, "choice": "a", "components": [{"name": "x", "replicas": 101}]}, "replicas"),
    ({"text": "t", "number": 1, "choice": "a", "when": "yesterday"}, "spec.when"),
]


async def check_refusals(client: Client) -> None:
    Untyped = Unstructured.of("crd.example.com/v1alpha1", "Sample", plural="samples")
    for number, (spec, field) in enumerate(BROKEN):
        with pytest.raises(Invalid, match=field):
            await client.create(Untyped(metadata=Metadata(name=f"broken-{number}"), content={"spec": spec}))


async def check_defaults(client: Client) -> None:
    """Only a default that was asked for is the server's."""
    Untyped = Unstructured.of("crd.example.com/v1alpha1", "Sample", plural="samples")
    spec = {"text": "t", "number": 1, "choice": None}

    created = await client.create(Untyped(metadata=Metadata(name="defaults"), content={"spec": spec}))

    assert created["spec"] == {**spec, "defaulted": 3}


async def test_the_embedded_server_accepts_and_serves_it():
    async with embedded_client() as client:
        await install(client, Sample)
        await install(client, Plain)
        await install(client, Scaled)
        await check_scale(client)
        await check_round_trip(client)
        await check_refusals(client)
        await check_defaults(client)


async def test_a_real_server_accepts_and_serves_it(real_control_plane: RealControlPlane):
    async with Client(Config.from_kubeconfig(real_control_plane.kubeconfig)) as client:
        await install(client, Sample)
        await install(client, Plain)
        await install(client, Scaled)
        try:
            await check_scale(client)
            await check_round_trip(client)
            await check_refusals(client)
            with pytest.raises(Invalid, match="failed rule: self % 2 == 0"):
                await client.create(
                    Sample(metadata=Metadata(name="odd"), spec=Everything(text="", number=1, choice="a", ruled=1))
                )
            await check_defaults(client)
        finally:
            for kind in (Sample, Plain, Scaled):
                await client.delete(CustomResourceDefinition, crd_of(kind).name)
