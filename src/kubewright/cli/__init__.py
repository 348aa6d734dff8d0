"""The command line: ``kubewright``. One file a command, no logic in it."""

from kubewright.cli.main import main

__all__ = ["main"]
