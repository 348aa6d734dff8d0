"""From a Resource class to its CustomResourceDefinition: names, schema, subresources, columns."""

from __future__ import annotations

from typing import Any

import msgspec

from kubewright.api import Metadata, MetadataOnly, Resource, Status, Unstructured
from kubewright.crd.schema import Schema, schema_of
from kubewright.kinds.apiextensions_v1 import (
    CustomResourceColumnDefinition,
    CustomResourceDefinition,
    CustomResourceDefinitionNames,
    CustomResourceDefinitionSpec,
    CustomResourceDefinitionVersion,
    CustomResourceSubresources,
    CustomResourceSubresourceStatus,
    CustomResourceValidation,
    JSONSchemaProps,
)

__all__ = ["crd_of"]


def crd_of(kind: type[Resource]) -> CustomResourceDefinition:
    """The definition by which an API server serves this kind: ``await client.apply(crd_of(Greeting))``.

    Names and scope are those of the class. The schema says what the fields say: those without a default are required;
    ``msgspec.Meta`` constrains them, and its ``extra_json_schema`` adds what is Kubernetes' own, such as
    ``x-kubernetes-validations``. A Python default is no default of the server: it holds where the object is read,
    and may change with the program. For one that the server fills in and stores, add
    ``extra_json_schema={"default": …}``. A field ``status`` brings the status subresource. Columns are Age, and Ready
    where the status carries conditions.

    *Raises* ``TypeError`` if the class is not one of a custom kind, or has a field that no schema can describe.
    """
    _check(kind)
    where = kind.api_resource
    names = CustomResourceDefinitionNames(
        plural=where.plural,
        singular=where.singular,
        kind=where.kind,
        list_kind=f"{where.kind}List",
        short_names=list(where.short_names),
        categories=list(where.categories),
    )
    spec = CustomResourceDefinitionSpec(
        group=where.group,
        names=names,
        scope="Namespaced" if where.namespaced else "Cluster",
        versions=[_version(kind)],
    )
    return CustomResourceDefinition(metadata=Metadata(name=where.group_resource), spec=spec)


def _check(kind: type[Resource]) -> None:
    if issubclass(kind, Unstructured | MetadataOnly):
        raise TypeError(f"{kind.__name__} has no fields to make a schema of; write a class with its fields")
    if not kind.api_resource.group:
        raise TypeError(f"{kind.__name__} is of the core group, which custom kinds cannot be; give it group=")


def _version(kind: type[Resource]) -> CustomResourceDefinitionVersion:
    schema = msgspec.convert(_root_schema(kind), JSONSchemaProps)
    has_status = "status" in kind.__struct_fields__
    return CustomResourceDefinitionVersion(
        name=kind.api_resource.version,
        served=True,
        storage=True,
        schema=CustomResourceValidation(open_api_v3_schema=schema),
        subresources=CustomResourceSubresources(status=CustomResourceSubresourceStatus()) if has_status else None,
        additional_printer_columns=_columns(kind),
    )


def _root_schema(kind: type[Resource]) -> Schema:
    schema = schema_of(kind)
    # Kubernetes checks the metadata itself, and refuses a schema that tries to.
    schema["properties"]["metadata"] = {"type": "object"}
    return schema


def _columns(kind: type[Resource]) -> list[CustomResourceColumnDefinition]:
    ready = CustomResourceColumnDefinition(
        name="Ready", type="string", json_path='.status.conditions[?(@.type=="Ready")].status'
    )
    age = CustomResourceColumnDefinition(name="Age", type="date", json_path=".metadata.creationTimestamp")
    return [ready, age] if _has_conditions(kind) else [age]


def _has_conditions(kind: type[Resource]) -> bool:
    field: Any = next((field.type for field in msgspec.structs.fields(kind) if field.name == "status"), None)
    members = getattr(field, "__args__", (field,))
    return any(isinstance(member, type) and issubclass(member, Status) for member in members)
