"""Writes the modules of built-in kinds: ``python -m tools.kinds``."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tools.kinds.facts import load
from tools.kinds.modules import generate

_KINDS: Final = Path(__file__).parents[2] / "src/kubewright/kinds"


def main() -> None:
    """Write all modules and remove those of group-versions that are no longer served."""
    modules = generate(load())
    for old in _KINDS.glob("*_v*.py"):
        if old.name not in modules:
            old.unlink()
    for name, text in modules.items():
        (_KINDS / name).write_text(text)
    print(f"{len(modules)} modules in src/kubewright/kinds")


if __name__ == "__main__":
    main()
