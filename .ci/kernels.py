"""Kernels over Unix sockets, each in a folder of its own, for the build and (as a pytest plugin) for nbval.

Over TCP a kernel is told its ports before it binds them: of two that start at once, one can find its port taken.
"""

from __future__ import annotations

import os
import sys
import tempfile
from typing import Any

from jupyter_client.manager import AsyncKernelManager, KernelManager


def _own_socket() -> dict[str, Any]:
    if os.name == "nt":  # no Unix sockets for ZeroMQ there
        return {}
    folder = tempfile.TemporaryDirectory(prefix="kernel-")
    return {"transport": "ipc", "connection_file": os.path.join(folder.name, "kernel.json"), "folder": folder}


class SocketKernelManager(KernelManager):
    def __init__(self, **settings: Any) -> None:
        own = _own_socket()
        self.folder = own.pop("folder", None)  # removed with this object
        super().__init__(**own, **settings)


class AsyncSocketKernelManager(AsyncKernelManager):
    def __init__(self, **settings: Any) -> None:
        own = _own_socket()
        self.folder = own.pop("folder", None)
        super().__init__(**own, **settings)


if "nbval" in sys.modules:
    import nbval.kernel

    nbval.kernel.KernelManager = SocketKernelManager
