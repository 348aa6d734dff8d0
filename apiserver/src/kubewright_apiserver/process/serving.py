"""A server made of flags; what is imported here takes time, which those who only ask for help do not need."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from kubewright_apiserver.bootstrap import LoadError
from kubewright_apiserver.process.flags import Flags
from kubewright_apiserver.process.options import server_options
from kubewright_apiserver.process.place import MEMORY, folder_for
from kubewright_apiserver.process.reading import Unusable
from kubewright_apiserver.server import ApiServer
from kubewright_apiserver.store import StoreFailed, make_folder

__all__ = ["STARTING_ERRORS", "new_server", "write_kubeconfig"]

STARTING_ERRORS: Final = (LoadError, OSError, StoreFailed, Unusable, ValueError)
"""What is wrong with what the server was given, in one line."""


def new_server(flags: Flags) -> ApiServer:
    """The server that the flags describe, not yet started."""
    data, etcd_servers = flags.text("data"), flags.items("etcd-servers")
    folder = folder_for(data, etcd_servers)
    if folder is not None:
        _prepare(folder)
    elif etcd_servers and data != MEMORY:
        sys.stderr.write("objects are kept in memory, and not in etcd; --data names a folder for them\n")
    return ApiServer(**server_options(flags, folder))


def write_kubeconfig(server: ApiServer, flags: Flags) -> None:
    """Write the administrator's kubeconfig where the flags say, if they do."""
    path = flags.text("write-kubeconfig")
    try:
        if path:
            server.write_kubeconfig(path)
    except OSError as error:
        told = f"--write-kubeconfig {path} cannot be written: {error.strerror}"
        raise Unusable(f"{told}; name a file in a folder that you may write to") from None


def _prepare(folder: Path) -> None:
    if folder.is_file():
        raise Unusable(f"--data {folder} is a file; name a folder, which is made if missing")
    try:
        make_folder(folder)
    except OSError as error:
        raise Unusable(f"--data {folder} cannot be made: {error.strerror}; name a folder that can") from None
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        raise Unusable(f"--data {folder} may not be written to; change its permissions, or name another folder")
