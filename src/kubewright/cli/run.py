"""``kubewright run module:operator``: run an operator on the current cluster, or on one that comes with it."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from kubewright.errors import ConfigError

if TYPE_CHECKING:
    from kubewright.operator import Operator

__all__ = ["add_to", "load_operator"]


def add_to(commands: Any) -> None:
    """Add the command to the command line."""
    from kubewright.operator.settings import add_flags

    parser: argparse.ArgumentParser = commands.add_parser(
        "run",
        help="run an operator",
        description="Run an operator on the cluster of the current kubeconfig, or on an embedded one.",
        epilog="example: kubewright run podset:operator --embedded",
    )
    parser.add_argument("operator", metavar="MODULE:NAME", help="where the Operator value is, such as podset:operator")
    parser.add_argument("--embedded", action="store_true", help="start an API server with it, in a process of its own")
    parser.add_argument("--data", metavar="DIR", help="with --embedded: keep its objects in this folder")
    parser.add_argument(
        "--manifests", metavar="PATH", action="append", default=[], help="with --embedded: YAML to begin with"
    )
    add_flags(parser)
    parser.set_defaults(command=_run)


def _run(told: argparse.Namespace) -> None:
    from kubewright.operator.settings import Settings

    operator = load_operator(told.operator)
    flags = {name: value for name, value in vars(told).items() if name in (*Settings.__struct_fields__, "settings")}
    settings = Settings.load(flags, os.environ)
    if not told.embedded:
        if told.data or told.manifests:
            raise ConfigError("--data and --manifests are for --embedded; a cluster of its own keeps its own data")
        operator.run(settings)
        return
    from kubewright.cli.embedded import embedded_process

    with embedded_process(data=told.data, manifests=told.manifests) as kubeconfig:
        sys.stderr.write(f"an API server runs with it; look with: kubectl --kubeconfig {kubeconfig} get all\n")
        changed = msgspec.structs.replace(settings, kubeconfig=str(kubeconfig), context=None, install_crds=True)
        operator.run(changed)


def load_operator(place: str) -> Operator:
    """The Operator value at ``module:name``; the current folder counts as a place for modules.

    *Raises* ``ConfigError`` saying what is wrong with the place.
    """
    from kubewright.operator import Operator

    module_name, colon, name = place.partition(":")
    if not colon or not module_name or not name:
        raise ConfigError(f"{place!r} names no operator; write module:name, such as podset:operator")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name != module_name.split(".")[0] and error.name != module_name:
            raise
        raise ConfigError(f"there is no module {module_name!r} here or among what is installed") from None
    found = getattr(module, name, None)
    if not isinstance(found, Operator):
        there = [key for key, value in vars(module).items() if isinstance(value, Operator)]
        hint = f"; there is {module_name}:{there[0]}" if there else "; it holds no Operator at all"
        raise ConfigError(f"{place!r} is not an Operator{hint}")
    return found
