"""The server as a program: kube-apiserver's flags, signals, files, and stand-ins for tools that want binaries."""

from kubewright_apiserver.process.running import main

__all__ = ["main"]
