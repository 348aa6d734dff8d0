"""From flags to the options of ``ApiServer``: files are read, and what they say is checked."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Any, Final

from kubewright_apiserver.access import Authority, Certificates, KeyPair, write_private
from kubewright_apiserver.golang import go_duration, go_quoted
from kubewright_apiserver.process.access_options import access_options
from kubewright_apiserver.process.command_line import integer_of, truth_of
from kubewright_apiserver.process.flags import Flags
from kubewright_apiserver.process.reading import Unusable, read_file

__all__ = ["Unusable", "server_options"]

_STAGES: Final = ("api/all", "api/alpha", "api/beta", "api/ga", "api/legacy")
_HIGHEST_PORT: Final = 65535


def server_options(flags: Flags, folder: Path | None) -> dict[str, Any]:
    """The options of a server that keeps its data in a folder, or in memory.

    Raises: `Unusable` for values that mean nothing, and files that cannot be read.
    """
    options: dict[str, Any] = {
        "host": flags.text("bind-address", "127.0.0.1"),
        "port": _port(flags, "secure-port", 6443),
        "certificates": _certificates(flags, folder),
        "names": [*flags.all("advertise-address"), *flags.all("external-hostname")],
        "manifests": flags.all("manifests"),
        "runtime_config": _runtime_config(flags),
        "service_ranges": _service_ranges(flags),
        "compaction_interval": go_duration(flags.text("etcd-compaction-interval", "5m")) or None,
        "event_lifetime": go_duration(flags.text("event-ttl", "1h")),
        "enable_admission_plugins": flags.items("enable-admission-plugins"),
        "disable_admission_plugins": flags.items("disable-admission-plugins"),
    }
    if flags.all("kubelet-preferred-address-types"):
        options["kubelet_address_types"] = flags.items("kubelet-preferred-address-types")
    options |= access_options(flags, folder)
    if folder is not None:
        options |= {"data": folder / "cluster.db", "power_safe": flags.is_on("power-safe")}
    if flags.all("http-port"):
        options["http_port"] = _port(flags, "http-port", 0)
    if flags.all("service-node-port-range"):
        options["node_ports"] = _port_range(flags.text("service-node-port-range"))
    return options


def _port(flags: Flags, name: str, default: int) -> int:
    port = integer_of(flags.text(name, str(default)))
    if not 0 <= port <= _HIGHEST_PORT:
        raise Unusable(f"--{name} {port} must be between 0 and {_HIGHEST_PORT}, inclusive")
    return port


def _certificates(flags: Flags, folder: Path | None) -> Certificates:
    authority = Authority.kept_in(folder / "authority.pem") if folder is not None else Authority()
    clients = flags.text("client-ca-file")
    return Certificates(
        authority=authority,
        server=_server_pair(flags, authority),
        clients=read_file(clients) if clients else b"",
    )


def _server_pair(flags: Flags, authority: Authority) -> KeyPair | None:
    certificate, key = flags.text("tls-cert-file"), flags.text("tls-private-key-file")
    if certificate or key:
        if not (certificate and key):
            raise Unusable("--tls-cert-file and --tls-private-key-file must be given together")
        return KeyPair(read_file(certificate), read_file(key))
    if not flags.text("cert-dir"):
        return None
    folder = Path(flags.text("cert-dir"))
    files = folder / "apiserver.crt", folder / "apiserver.key"
    if not all(file.exists() for file in files):
        folder.mkdir(parents=True, exist_ok=True)
        names = ["localhost", "127.0.0.1", "kubernetes", "kubernetes.default", "kubernetes.default.svc"]
        names += [flags.text("bind-address", "127.0.0.1"), *flags.all("advertise-address")]
        pair = authority.issue_server(sorted({*names, *flags.all("external-hostname")}))
        files[0].write_bytes(pair.certificate + authority.certificate)
        write_private(files[1], pair.key)
    return KeyPair(read_file(files[0]), read_file(files[1]))


def _runtime_config(flags: Flags) -> dict[str, bool]:
    found: dict[str, bool] = {}
    for name, value in flags.pairs("runtime-config").items():
        if "/" not in name and name != "v1":
            raise Unusable(f"runtime-config invalid key {name}")
        if value and not truth_of(value) and value.lower() not in ("0", "f", "false"):
            raise Unusable(f"invalid value {name}={value}" if name in _STAGES else _no_bool(name, value))
        found[name] = truth_of(value or "true")
    return found


def _no_bool(name: str, value: str) -> str:
    return f"invalid value of {name}: {value}, err: strconv.ParseBool: parsing {go_quoted(value)}: invalid syntax"


def _service_ranges(flags: Flags) -> list[str]:
    ranges = flags.text("service-cluster-ip-range", "10.0.0.0/24").split(",")
    families = []
    for index, text in enumerate(ranges):
        try:
            network = ipaddress.ip_network(text, strict=False)
        except ValueError:
            raise Unusable(f"service-cluster-ip-range[{index}] is not a valid cidr") from None
        ranges[index] = str(network)
        families.append(network.version)
    if len(ranges) != len(set(families)):
        raise Unusable("--service-cluster-ip-range takes one range, or one of IPv4 and one of IPv6")
    return ranges


def _port_range(text: str) -> tuple[int, int]:
    """As Go reads it: ``30000-32767``, ``30000+2767``, or one port."""
    try:
        if "+" in text:
            first, more = (int(part) for part in text.split("+", 1))
            ports = first, first + more
        else:
            start, _, end = text.partition("-")
            ports = int(start), int(end or start)
    except ValueError:
        raise Unusable(f"--service-node-port-range {text!r} is no range of ports, such as 30000-32767") from None
    if not 0 < ports[0] <= ports[1] <= _HIGHEST_PORT:
        raise Unusable(f"--service-node-port-range {text!r} is no range of ports, such as 30000-32767")
    return ports
