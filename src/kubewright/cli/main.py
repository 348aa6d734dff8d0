"""``kubewright``: which command, and errors told in one line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from kubewright.cli import run, up
from kubewright.errors import KubewrightError

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command that the arguments name; exits with 1 and one line if it fails."""
    parser = argparse.ArgumentParser(prog="kubewright", description="Kubernetes operators in Python.")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    run.add_to(commands)
    up.add_to(commands)
    told = parser.parse_args(arguments)
    try:
        told.command(told)
    except KubewrightError as error:
        sys.stderr.write(f"kubewright: {error}\n")
        raise SystemExit(1) from None
