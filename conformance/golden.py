"""The answers of the real server, committed: one file a module of cases, one entry a case."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["FOLDER", "Golden"]

FOLDER = Path(__file__).parent / "golden"


class Golden:
    """The recorded cases of one module."""

    def __init__(self, module: str, folder: Path = FOLDER) -> None:
        self._path = folder / f"{module}.json"
        self._cases: dict[str, Any] = json.loads(self._path.read_text()) if self._path.exists() else {}

    def expected(self, case: str) -> Any:
        """What the real server answered, or None if the case was never recorded."""
        return self._cases.get(case)

    def record(self, case: str, exchanges: Any) -> None:
        """Keep what the real server answers now."""
        self._cases[case] = exchanges
        self._path.parent.mkdir(exist_ok=True)
        lines = (
            f"{json.dumps(name)}: {json.dumps(self._cases[name], ensure_ascii=False)}" for name in sorted(self._cases)
        )
        self._path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
