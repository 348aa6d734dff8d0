"""A server made of flags; what is imported here takes time, which those who only ask for help do not need."""

from __future__ import annotations

import sys
from typing import Final

from kubewright_apiserver.bootstrap import LoadError
from kubewright_apiserver.process.flags import Flags
from kubewright_apiserver.process.options import Unusable, server_options
from kubewright_apiserver.process.place import MEMORY, folder_for
from kubewright_apiserver.server import ApiServer
from kubewright_apiserver.store import StoreFailed

__all__ = ["STARTING_ERRORS", "new_server"]

STARTING_ERRORS: Final = (LoadError, OSError, StoreFailed, Unusable, ValueError)
"""What is wrong with what the server was given, in one line."""


def new_server(flags: Flags) -> ApiServer:
    """The server that the flags describe, not yet started."""
    data, etcd_servers = flags.text("data"), flags.items("etcd-servers")
    folder = folder_for(data, etcd_servers)
    if folder is not None:
        if folder.is_file():
            raise Unusable(f"--data {folder} is a file; name a folder, which is made if missing")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    elif etcd_servers and data != MEMORY:
        sys.stderr.write("objects are kept in memory, and not in etcd; --data names a folder for them\n")
    return ApiServer(**server_options(flags, folder))
