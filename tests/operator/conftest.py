"""The real control plane, for what must hold there too."""

from tests.real import pytest_collection_modifyitems, real_control_plane

__all__ = ["pytest_collection_modifyitems", "real_control_plane"]
