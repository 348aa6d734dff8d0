"""``Flags``: what the command line says. Which flags there are, which of them do something, and the help."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Final, NamedTuple

from kubewright_apiserver.data import flags as known_flags
from kubewright_apiserver.process.command_line import items_of, pairs_of, read_command_line, truth_of

__all__ = ["KUBERNETES", "Flags", "help_text"]

KUBERNETES: Final = "v1.36.3"
"""The version of Kubernetes whose answers and flags these are."""

_WIDTH: Final = 118


class _Own(NamedTuple):
    type: str
    value: str
    meaning: str


_OWN: Final = {
    "data": _Own("string", "DIR|:memory:", "keep objects and the server's authority in this folder; else in memory"),
    "exit-with-stdin": _Own("bool", "", "end when standard input ends, as it does when the parent dies"),
    "http-port": _Own("int", "PORT", "serve plain HTTP on loopback too, where who shows no token is administrator"),
    "manifests": _Own("stringArray", "PATH", "create what is in this file or folder of YAML; may be repeated"),
    "power-safe": _Own("bool", "", "with --data: flush the disk at each write, against power failures"),
    "write-assets": _Own("string", "DIR", "write kube-apiserver, etcd and kubectl for KUBEBUILDER_ASSETS, and end"),
    "write-kubeconfig": _Own("string", "FILE", "write a kubeconfig of the administrator, readable by you alone"),
}

_TAKEN: Final = {
    "advertise-address": "a further address in the server's own certificate",
    "anonymous-auth": "whether those may ask who show nothing; true if not given",
    "api-audiences": "whom tokens of service accounts must be for; the issuer if not given",
    "audit-log-path": "a file with a line of JSON for each request and stage; - for standard output",
    "audit-policy-file": "which requests, and how much of them; all at the level Metadata if not given",
    "authorization-mode": "AlwaysAllow, AlwaysDeny, Node, RBAC, or several; RBAC if not given",
    "bind-address": "where to listen; 127.0.0.1 if not given",
    "cert-dir": "a folder with apiserver.crt and apiserver.key, or where they are written",
    "client-ca-file": "the authorities of clients' certificates, beside the server's own",
    "disable-admission-plugins": "plug-ins that are off though they are on by default",
    "enable-admission-plugins": "plug-ins that are on beside the default ones; ServiceAccount is not on",
    "etcd-compaction-interval": "how long the history is kept; 5m0s if not given, for ever if 0",
    "etcd-servers": "another value is another, empty store; see --data and --write-assets",
    "event-ttl": "how long Events are kept; 1h0m0s if not given",
    "external-hostname": "a further name in the server's own certificate",
    "help": "this",
    "kubelet-preferred-address-types": "which of a node's addresses its kubelet is reached at",
    "requestheader-allowed-names": "the common names of proxies; all if not given",
    "requestheader-client-ca-file": "the authority of proxies in front, whose word is taken for who asks",
    "requestheader-extra-headers-prefix": "how headers begin in which proxies say what else they know",
    "requestheader-group-headers": "the headers in which proxies say the groups",
    "requestheader-uid-headers": "the headers in which proxies say the uid",
    "requestheader-username-headers": "the headers in which proxies say the name",
    "runtime-config": "which versions of the API are served, such as api/beta=true",
    "secure-port": "the port; 6443 if not given, a free one if 0",
    "service-account-issuer": "who issues tokens of service accounts; further ones are believed too",
    "service-account-key-file": "keys by which tokens of service accounts are checked; may be repeated",
    "service-account-signing-key-file": "the key that signs them; one beside the data, or a fresh one, if not given",
    "service-cluster-ip-range": "the addresses of Services, of one family or both; 10.0.0.0/24 if not given",
    "service-node-port-range": "the node ports of Services; 30000-32767 if not given",
    "tls-cert-file": "the server's certificate, with those of authorities behind it",
    "tls-private-key-file": "its key",
    "token-auth-file": "lines of token,user,uid and groups",
    "v": "how much is logged: from 2 on more, from 4 on each request",
    "version": "the version",
}

# What the server does in any case, so that nobody needs to hear that the flag has no effect.
_ALREADY_SO: Final = {
    ("allow-privileged", "true"),
    ("contention-profiling", "false"),
    ("enable-priority-and-fairness", "false"),
    ("endpoint-reconciler-type", "none"),
    ("profiling", "false"),
    ("storage-backend", "etcd3"),
    ("watch-cache", "true"),
}


class Flags:
    """The flags of a command line, by name.

    Raises: `UsageError`, in kube-apiserver's words, for flags and values that it does not take either.
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        known = known_flags()
        types = {name: flag["type"] for name, flag in known.items()} | {name: own.type for name, own in _OWN.items()}
        self._given = read_command_line(arguments, types)
        self.deprecations: list[str] = [
            f"Flag --{name} has been deprecated, {known[name]['deprecated']}"
            for name, _ in self._given
            if "deprecated" in known.get(name, ())
        ]
        """What is to be said of the flags that kube-apiserver would rather not have."""

    @property
    def ignored(self) -> list[str]:
        """The flags of kube-apiserver that were given and have no effect here, sorted."""
        idle = {name for name, value in self._given if (name, value) not in _ALREADY_SO}
        return sorted(idle - _OWN.keys() - _TAKEN.keys())

    def all(self, name: str) -> list[str]:
        """The values that a flag was given, in their order."""
        return [value for given, value in self._given if given == name]

    def text(self, name: str, default: str = "") -> str:
        """The value of a flag; the last one if it was given several times."""
        values = self.all(name)
        return values[-1] if values else default

    def items(self, name: str) -> list[str]:
        """The values of a flag that takes a list."""
        return items_of(self.all(name))

    def pairs(self, name: str) -> dict[str, str]:
        """The values of a flag that takes a map."""
        return pairs_of(self.all(name))

    def is_on(self, name: str, default: bool = False) -> bool:
        """The value of a flag that takes true or false."""
        return truth_of(self.text(name)) if self.all(name) else default


def help_text() -> str:
    """What the program does, and its flags."""
    own = "".join(_entry(f"--{name} {flag.value}".rstrip(), flag.meaning) for name, flag in _OWN.items())
    taken = "".join(_entry(f"--{name}", meaning) for name, meaning in _TAKEN.items())
    others = ", ".join(f"--{name}" for name in known_flags() if name not in _TAKEN)
    return f"""\
A Kubernetes API server without etcd: the answers of kube-apiserver {KUBERNETES}, for tests and development.

Usage:
  kubewright-apiserver [flags]

Without flags it listens on https://127.0.0.1:6443 and keeps objects in memory. Written to standard output
when it is ready: "serving at" and its address. SIGTERM ends it in order, a second one at once.

  kubewright-apiserver --data ./cluster --write-kubeconfig ./kubeconfig
  kubectl --kubeconfig ./kubeconfig get namespaces

Flags of its own:

{own}
Flags of kube-apiserver that it has too:

{taken}
Flags of kube-apiserver that it accepts, and says that they have no effect:

{textwrap.fill(others, _WIDTH, initial_indent="      ", subsequent_indent="      ", break_on_hyphens=False)}
"""


def _entry(flag: str, meaning: str) -> str:
    return f"      {flag:<38}{meaning}\n"
