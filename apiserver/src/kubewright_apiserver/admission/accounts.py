"""ServiceAccount: pods run as an account that is there, and find its token where programs look for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from kubewright_apiserver.admission.attributes import Attributes, Object, Rule
from kubewright_apiserver.admission.secrets import environment_secrets, secret_names
from kubewright_apiserver.defaulting.parts import part
from kubewright_apiserver.status import internal_error

__all__ = ["RULES"]

_MIRROR: Final = "kubernetes.io/config.mirror"
_ENFORCED: Final = "kubernetes.io/enforce-mountable-secrets"
_TRUE: Final = ("1", "t", "T", "true", "TRUE", "True")
_PREFIX: Final = "kube-api-access-"
_MOUNT_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
_TOKEN_SECONDS: Final = 3607


def _set_account(attributes: Attributes) -> None:
    pod = attributes.obj
    if _is_mirror(pod):
        _check_mirror(attributes)
        return
    spec = part(pod, "spec")
    if not spec.get("serviceAccountName"):
        # Both names of the field are written together wherever the pod is shown.
        spec["serviceAccountName"] = spec["serviceAccount"] = "default"
    account = _account_of(attributes)
    if _is_mounted(account, spec):
        _mount_token(attributes, spec)
    pulling = [{"name": one["name"]} if one.get("name") else {} for one in account.get("imagePullSecrets") or ()]
    if not spec.get("imagePullSecrets") and pulling:
        spec["imagePullSecrets"] = pulling
    _check_secrets(attributes, account)


def _check_account(attributes: Attributes) -> None:
    if _is_mirror(attributes.obj):
        _check_mirror(attributes)
    else:
        _check_secrets(attributes, _account_of(attributes))


def _check_debugging(attributes: Attributes) -> None:
    """The secrets that ephemeral containers read are the account's too."""
    account = _account_of(attributes)
    if _is_enforced(account):
        containers = (attributes.obj.get("spec") or {}).get("ephemeralContainers") or ()
        problem = next(_problems_of("ephemeral container", containers, account), None)
        if problem is not None:
            # The real server fails here, where it means to refuse.
            raise internal_error(problem)


def _is_mirror(pod: Object) -> bool:
    return _MIRROR in (pod["metadata"].get("annotations") or {})


def _check_mirror(attributes: Attributes) -> None:
    spec = attributes.obj.get("spec") or {}
    if spec.get("serviceAccountName"):
        raise attributes.refusal("a mirror pod may not reference service accounts")
    if next(secret_names(spec), None) is not None:
        raise attributes.refusal("a mirror pod may not reference secrets")
    for volume in spec.get("volumes") or ():
        sources = (volume.get("projected") or {}).get("sources") or ()
        if any(source.get("serviceAccountToken") is not None for source in sources):
            raise attributes.refusal("a mirror pod may not use ServiceAccountToken volume projections")


def _account_of(attributes: Attributes) -> Object:
    namespace, name = attributes.namespace, (attributes.obj.get("spec") or {}).get("serviceAccountName") or ""
    if not name:
        known = attributes.obj["metadata"].get("name", "")
        raise attributes.refusal(f"no service account specified for pod {namespace}/{known}")
    account = attributes.cluster.find("/serviceaccounts", f"{namespace}/{name}")
    if account is None:
        why = f'error looking up service account {namespace}/{name}: serviceaccount "{name}" not found'
        raise attributes.refusal(why)
    return account


def _is_mounted(account: Object, spec: Object) -> bool:
    """Whether containers find the token: the pod's own word counts first."""
    for said in (spec.get("automountServiceAccountToken"), account.get("automountServiceAccountToken")):
        if said is not None:
            return bool(said)
    return True


def _mount_token(attributes: Attributes, spec: Object) -> None:
    volumes = spec.get("volumes") or []
    own = next((volume["name"] for volume in volumes if str(volume.get("name", "")).startswith(_PREFIX)), "")
    name = own or f"{_PREFIX}{attributes.cluster.suffix()}"
    is_needed = False
    for container in _containers(spec):
        mounts = container.get("volumeMounts") or []
        if not any(mount.get("mountPath") == _MOUNT_PATH for mount in mounts):
            container["volumeMounts"] = [*mounts, {"name": name, "readOnly": True, "mountPath": _MOUNT_PATH}]
            is_needed = True
    if is_needed and not own:
        spec["volumes"] = [*volumes, {"name": name, "projected": _token_volume()}]


def _containers(spec: Object) -> Iterator[Any]:
    yield from spec.get("initContainers") or ()
    yield from spec.get("containers") or ()


def _token_volume() -> Object:
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    return {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": _TOKEN_SECONDS, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [namespace]}},
        ],
        "defaultMode": 420,
    }


def _is_enforced(account: Object) -> bool:
    annotations = account["metadata"].get("annotations") or {}
    return annotations.get(_ENFORCED) in _TRUE


def _check_secrets(attributes: Attributes, account: Object) -> None:
    """Refuse secrets that the account does not name, if it is one that names all."""
    if _is_enforced(account):
        problem = next(_problems(attributes.obj.get("spec") or {}, account), None)
        if problem is not None:
            raise attributes.refusal(problem)


def _problems(spec: Object, account: Object) -> Iterator[str]:
    known = _named(account.get("secrets"))
    for volume in spec.get("volumes") or ():
        secret = volume.get("secret")
        if secret is not None and secret.get("secretName", "") not in known:
            yield _unknown(f'volume with secret.secretName="{secret.get("secretName", "")}"', account)
    yield from _problems_of("init container", spec.get("initContainers") or (), account)
    yield from _problems_of("container", spec.get("containers") or (), account)
    pulling = _named(account.get("imagePullSecrets"))
    for index, reference in enumerate(spec.get("imagePullSecrets") or ()):
        if reference.get("name", "") not in pulling:
            yield _unknown(f'imagePullSecrets[{index}].name="{reference.get("name", "")}"', account, "imagePullSecret")


def _problems_of(what: str, containers: Sequence[Object], account: Object) -> Iterator[str]:
    known = _named(account.get("secrets"))
    for container in containers:
        for source, name in environment_secrets(container):
            if name not in known:
                where = f"{what} {container.get('name', '')} with {source}"
                yield _unknown(f'{where} referencing secret.secretName="{name}"', account)


def _named(references: Sequence[Object] | None) -> set[str]:
    return {str(one.get("name", "")) for one in references or ()}


def _unknown(what: str, account: Object, kind: str = "secret") -> str:
    name = account["metadata"]["name"]
    return f"{what} is not allowed because service account {name} does not reference that {kind}"


RULES: Final = (
    Rule("ServiceAccount", ("CREATE",), "/pods", _set_account),
    Rule("ServiceAccount", ("CREATE",), "/pods", _check_account, validates=True),
    Rule("ServiceAccount", ("UPDATE",), "/pods", _check_debugging, subresource="ephemeralcontainers", validates=True),
)
