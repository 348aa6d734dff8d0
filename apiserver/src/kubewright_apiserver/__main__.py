"""``python -m kubewright_apiserver``: the API server as a process."""

from __future__ import annotations

from kubewright_apiserver.process import main

__all__ = ["main"]

if __name__ == "__main__":
    raise SystemExit(main())
