"""The real control plane, for the faults that must be survived there too."""

from tests.real import pytest_collection_modifyitems, real_control_plane

__all__ = ["pytest_collection_modifyitems", "real_control_plane"]
