"""Checks that every public name of both distributions is completely typed, as type checkers of users see it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = {"kubewright": ROOT / "src/kubewright", "kubewright_apiserver": ROOT / "apiserver/src/kubewright_apiserver"}
CHECKER = Path(sys.executable).parent / "basedpyright"


def incomplete_names(package: str, source: Path) -> list[str]:
    """The public names whose types are unknown or partly unknown; an empty package is an error."""
    with tempfile.TemporaryDirectory() as folder:
        # The checker looks for packages to verify on PYTHONPATH only, and not inside the project that it runs in.
        shutil.copytree(source, Path(folder, "lib", package), ignore=shutil.ignore_patterns("__pycache__"))
        path = os.pathsep.join((str(Path(folder, "lib")), sysconfig.get_paths()["purelib"]))
        command = [str(CHECKER), "--ignoreexternal", "--verifytypes", package, "--outputjson"]
        environ = {**os.environ, "PYTHONPATH": path}
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=environ)
    symbols = json.loads(done.stdout)["typeCompleteness"]["symbols"]
    if not symbols:
        sys.exit(f"{package}: no public names were found; is {source} there, with a py.typed file?")
    return [symbol["name"] for symbol in symbols if symbol["isExported"] and not symbol["isTypeKnown"]]


def main() -> int:
    """Print what is incomplete; the exit code tells whether anything is."""
    found = {package: incomplete_names(package, source) for package, source in PACKAGES.items()}
    for package, names in found.items():
        print(f"{package}: {'incomplete types:' if names else 'all public names are completely typed'}")
        for name in names:
            print(f"  {name}")
    return 1 if any(found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
