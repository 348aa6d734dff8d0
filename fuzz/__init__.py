"""A fuzzer that knows the API: ``python -m fuzz``; see README.md."""

from __future__ import annotations
