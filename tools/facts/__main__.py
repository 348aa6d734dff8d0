"""Writes the facts into the API server's data folder: ``python -m tools.facts``.

Needs ``go`` and the real binaries (``make real``); all beta APIs are switched on, alpha ones are left out.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, Final

from kubewright.testing import RealControlPlane
from tools.facts.bootstrap import read_bootstrap
from tools.facts.discovery import read_resources
from tools.facts.flags import read_flags
from tools.facts.go_types import read_go_fields, read_messages, read_template_types, served, served_messages
from tools.facts.internal_types import read_internal_types
from tools.facts.openapi import read_schemas
from tools.facts.reading import get_from
from tools.facts.roles import read_roles
from tools.facts.tables import read_tables

_DATA: Final = Path(__file__).parents[2] / "apiserver/src/kubewright_apiserver/data"
_TEMPLATES: Final = Path(__file__).parents[2] / "src/kubewright/controlplane/deployment"

# Some beta APIs are served only with their feature: ClusterTrustBundle, PodCertificateRequest, StorageVersionMigration.
_FEATURES: Final = "--feature-gates=AllBeta=true"


async def main() -> None:
    """Start a control plane, ask it, and write what it said and what its Go sources say."""
    async with RealControlPlane(runtime_config="api/ga=true,api/beta=true", flags=[_FEATURES]) as plane:
        get = get_from(plane)
        schemas = await read_schemas(get)
        resources = await read_resources(get)
        bootstrap = await read_bootstrap(get)
        tables = await read_tables(plane, resources["resources"])
    async with RealControlPlane() as plane:
        # Roles for what is behind feature gates that are off would be of no use.
        roles = await read_roles(get_from(plane))
    go_fields = served(read_go_fields(), schemas)
    _write("schemas", {name: schemas[name] for name in sorted(schemas)}, sort_keys=True)
    _write("resources", resources)
    _write("go_fields", go_fields)
    _write("internal_types", read_internal_types())
    _write("bootstrap", bootstrap)
    _write("roles", roles)
    _write("flags", read_flags())
    _write("tables", tables)
    _write("messages", served_messages(read_messages(), schemas))
    _write("template_types", read_template_types(), folder=_TEMPLATES)
    print(f"Kubernetes {resources['kubernetes']}: {len(schemas)} schemas, {len(resources['resources'])} resources")


def _write(name: str, facts: dict[str, Any], *, sort_keys: bool = False, folder: Path = _DATA) -> None:
    """One fact a line, so that a difference between two Kubernetes versions can be read."""

    def text(value: Any) -> str:
        if isinstance(value, list):
            return "[\n" + ",\n".join(map(text, value)) + "\n]"
        return json.dumps(value, separators=(",", ":"), sort_keys=sort_keys)

    lines = ",\n".join(f"{json.dumps(key)}:{text(value)}" for key, value in facts.items())
    (folder / f"{name}.json").write_text("{\n" + lines + "\n}\n")


if __name__ == "__main__":
    asyncio.run(main())
