"""The Python blocks of a page of documentation."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "apiserver/README.md",
    *sorted((ROOT / "docs/tutorial").glob("*.md")),
    *sorted((ROOT / "docs/guide").glob("*.md")),
]


def run_page(page: Path) -> dict[str, Any]:
    """Run all blocks of a page, one after the other in one module; what they defined."""
    module = ModuleType(f"docs_{page.parent.name}_{page.stem}")
    sys.modules[module.__name__] = module
    text = page.read_text()
    for block in re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        line = text[: block.start()].count("\n") + 1
        source = "\n" * line + block.group(1)
        exec(compile(source, page, "exec", dont_inherit=True), module.__dict__)
    return module.__dict__
