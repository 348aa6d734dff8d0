"""From a Resource class to its CustomResourceDefinition: names, schema, subresources, columns."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from kubewright.api import Column, Metadata, MetadataOnly, Resource, Status, Unstructured
from kubewright.crd.schema import Schema, schema_of
from kubewright.kinds.apiextensions_v1 import (
    CustomResourceColumnDefinition,
    CustomResourceDefinition,
    CustomResourceDefinitionNames,
    CustomResourceDefinitionSpec,
    CustomResourceDefinitionVersion,
    CustomResourceSubresources,
    CustomResourceSubresourceScale,
    CustomResourceSubresourceStatus,
    CustomResourceValidation,
    JSONSchemaProps,
)

__all__ = ["crd_of"]

_READY: Final = Column("Ready", '.status.conditions[?(@.type=="Ready")].status')
_AGE: Final = Column("Age", ".metadata.creationTimestamp", "date")


def crd_of(kind: type[Resource]) -> CustomResourceDefinition:
    """The definition by which an API server serves this kind: ``await client.apply(crd_of(Greeting))``.

    Names and scope are those of the class. The schema says what the fields say: those without a default are required;
    ``msgspec.Meta`` constrains them, and its ``extra_json_schema`` adds what is Kubernetes' own, such as
    ``x-kubernetes-validations``. A Python default is no default of the server: it holds where the object is read,
    and may change with the program. For one that the server fills in and stores, add
    ``extra_json_schema={"default": …}``. A field ``status`` brings the status subresource, ``scale=`` of the class the
    scale subresource. Columns are those of ``columns=``, then Ready where the status carries conditions, and Age; a
    column of yours that has one of these names takes its place.

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
    return CustomResourceDefinitionVersion(
        name=kind.api_resource.version,
        served=True,
        storage=True,
        schema=CustomResourceValidation(open_api_v3_schema=schema),
        subresources=_subresources(kind),
        additional_printer_columns=_columns(kind),
    )


def _root_schema(kind: type[Resource]) -> Schema:
    schema = schema_of(kind)
    # Kubernetes checks the metadata itself, and refuses a schema that tries to.
    schema["properties"]["metadata"] = {"type": "object"}
    return schema


def _subresources(kind: type[Resource]) -> CustomResourceSubresources | None:
    has_status = "status" in kind.__struct_fields__
    paths = kind.api_resource.scale
    if not has_status and paths is None:
        return None
    status = CustomResourceSubresourceStatus() if has_status else None
    scale = None
    if paths is not None:
        scale = CustomResourceSubresourceScale(
            spec_replicas_path=paths.spec, status_replicas_path=paths.status, label_selector_path=paths.selector
        )
    return CustomResourceSubresources(status=status, scale=scale)


def _columns(kind: type[Resource]) -> list[CustomResourceColumnDefinition]:
    own = kind.api_resource.columns
    usual = [_READY, _AGE] if _has_conditions(kind) else [_AGE]
    named = {column.name for column in own}
    return [_column(column) for column in (*own, *(column for column in usual if column.name not in named))]


def _column(column: Column) -> CustomResourceColumnDefinition:
    return CustomResourceColumnDefinition(
        name=column.name,
        type=column.type,
        json_path=column.path,
        description=column.description or None,
        priority=1 if column.wide else None,
    )


def _has_conditions(kind: type[Resource]) -> bool:
    field: Any = next((field.type for field in msgspec.structs.fields(kind) if field.name == "status"), None)
    members = (_plain(member) for member in getattr(field, "__args__", (field,)))
    return any(isinstance(member, type) and issubclass(member, Status) for member in members)


def _plain(member: Any) -> Any:
    """The class behind ``Annotated``."""
    return getattr(member, "__origin__", member)
