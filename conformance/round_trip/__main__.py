"""Writes the objects that a real server accepts, and the fields that are in none of them: ``make golden``."""

from __future__ import annotations

import asyncio
import json
import sys

from conformance.round_trip.coverage import all_fields, missing
from conformance.round_trip.golden import MISSING, is_volatile, write_objects
from conformance.round_trip.maker import FLAGS, RUNTIME_CONFIG, make_all
from conformance.round_trip.schema import schemas
from kubewright.config import Config
from kubewright.testing import RealControlPlane


async def main() -> None:
    """Start a server, make everything, write it down."""
    async with RealControlPlane(runtime_config=RUNTIME_CONFIG, flags=FLAGS) as plane:
        made = await make_all(Config.from_kubeconfig(plane.kubeconfig))
    objects = [*(document for document in made.bootstrap if not is_volatile(document)), *made.objects]
    write_objects(objects)
    left, total = missing(schemas(), objects, made.ledger), len(all_fields(schemas()))
    MISSING.write_text(json.dumps(left, indent=1, ensure_ascii=False) + "\n")
    sys.stdout.write(f"{len(objects)} objects with {total - len(left)} of {total} fields\n")


if __name__ == "__main__":
    asyncio.run(main())
