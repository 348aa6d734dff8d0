"""Apply does what kube-apiserver 1.36.3 does: writes recorded there are repeated here, and the outcomes compared."""

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from kubewright_apiserver.patch.apply import apply, track
from kubewright_apiserver.patch.conflicts import Conflicts
from kubewright_apiserver.patch.endpoint import Endpoint, Versions
from kubewright_apiserver.patch.fieldset import FieldSet
from kubewright_apiserver.patch.managers import keep_times
from kubewright_apiserver.patch.scale import entries_of_parent, entries_of_scale
from kubewright_apiserver.patch.typed import TypedError
from kubewright_apiserver.schema.node import Node, node_of_builtin, node_of_schema

RECORDED = json.loads((Path(__file__).parent / "data" / "apply_cases.json").read_text(encoding="utf-8"))
WIDGET = {version: node_of_schema(RECORDED["schema"]) for version in ("ex.io/v1", "ex.io/v2")}
BUILT_IN = {
    "ConfigMap": ("v1", "io.k8s.api.core.v1.ConfigMap"),
    "Deployment": ("apps/v1", "io.k8s.api.apps.v1.Deployment"),
    "Pod": ("v1", "io.k8s.api.core.v1.Pod"),
    "Scale": ("autoscaling/v1", "io.k8s.api.autoscaling.v1.Scale"),
    "Service": ("v1", "io.k8s.api.core.v1.Service"),
}
RESET = {
    "": FieldSet.of_paths(("status",)),
    "Deployment/status": FieldSet.of_paths(("spec",), ("metadata", "labels")),
    "Pod/status": FieldSet.of_paths(("spec",), ("metadata", "deletionTimestamp"), ("metadata", "ownerReferences")),
    "Widget/status": FieldSet.of_paths(("spec",), ("metadata",)),
}
DEFAULTED = {
    "clusterIP", "clusterIPs", "creationTimestamp", "dnsPolicy", "imagePullPolicy", "internalTrafficPolicy",
    "ipFamilies", "ipFamilyPolicy", "lastProbeTime", "lastTransitionTime", "lastUpdateTime", "maxSurge",
    "maxUnavailable", "mode", "progressDeadlineSeconds", "protocol", "replicas", "requests", "resources",
    "restartPolicy", "revisionHistoryLimit", "rollingUpdate", "schedulerName", "securityContext", "sessionAffinity",
    "strategy", "targetPort", "terminationGracePeriodSeconds", "terminationMessagePath", "terminationMessagePolicy",
    "type", "uid",
}  # fmt: skip
CANONICAL = {"1000m": "1"}


def node_of_widget(api_version: str) -> Node:
    if api_version not in WIDGET:
        raise TypedError(f"request to convert CR to an invalid group/version: {api_version}")
    return WIDGET[api_version]


def endpoint_of(kind: str, api_version: str = "", subresource: str = "", **further: Any) -> Endpoint:
    if kind == "Widget":
        versions = Versions(node=node_of_widget, convert=lambda obj, version: {**obj, "apiVersion": version})
        known = list(WIDGET) if subresource else [api_version or "ex.io/v1"]
    else:
        own, definition = BUILT_IN[kind]
        versions = Versions(
            node=lambda version: node_of_builtin(definition) if version == own else None,
            convert=lambda obj, version: None,
        )
        known = [own] if kind != "Scale" else []
    reset = RESET[f"{kind}/{subresource}" if subresource and known else ""]
    return Endpoint(
        versions=versions,
        api_version=api_version or known[0],
        kind=kind,
        subresource=subresource,
        reset=dict.fromkeys(known, reset),
        **further,
    )


def merge_patched(target: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        result[name] = merge_patched(result.get(name), value)
    return {name: value for name, value in result.items() if value is not None or name == "lastProbeTime"}


def decoded(value: Any, answer: Any) -> Any:
    """What the server decodes of a merged value: defaults are taken from its answer, what Go leaves out is dropped."""
    if isinstance(value, list) and isinstance(answer, list):
        return [decoded(one, other) for one, other in zip(value, answer, strict=False)] + value[len(answer) :]
    if not isinstance(value, dict) or not isinstance(answer, dict):
        return CANONICAL.get(value, value) if isinstance(value, str) else value
    kept = {name: decoded(inner, answer.get(name)) for name, inner in value.items() if inner or name in answer}
    filled = {name: answer[name] for name in answer if name in DEFAULTED and kept.get(name) is None}
    return kept | filled


def without_managers(obj: dict[str, Any], subresource: str) -> dict[str, Any]:
    """The object but for managed fields, and for what the endpoint resets after all this."""
    metadata = {name: value for name, value in obj["metadata"].items() if name != "managedFields"}
    parts = {"status": obj.get("status")} if subresource else {**obj, "metadata": metadata, "status": None}
    return {**parts, "apiVersion": None}


class Recorded:
    """One recorded write, and what the same write does here."""

    def __init__(self, kind: str, live: dict[str, Any] | None, step: dict[str, Any]) -> None:
        self.kind, self.step = kind, step
        self.subresource = step.get("subresource", "")
        self.endpoint = endpoint_of(kind, step.get("apiVersion", ""), self.subresource * (self.subresource != "scale"))
        self.live = {**live, "apiVersion": self.endpoint.api_version} if live else None

    def run(self) -> dict[str, Any]:
        if self.subresource == "scale":
            return self._scaled()
        return self._written(self.live, self.endpoint)

    def _written(self, live: dict[str, Any] | None, endpoint: Endpoint) -> dict[str, Any]:
        body, manager, now = self.step["body"], self.step["manager"], self.step["now"]
        if self.step["op"] == "apply":
            return apply(
                live, body, endpoint=endpoint, manager=manager, force=self.step.get("force", False), now=now,
                finish=lambda merged: decoded(merged, self.step.get("after", {})),
            )  # fmt: skip
        sent = merge_patched(live, body) if self.step["op"] == "merge" else body
        new = {**sent, "metadata": dict(sent["metadata"])}
        track(live, new, endpoint=endpoint, manager=manager, now=now)
        return new

    def _scaled(self) -> dict[str, Any]:
        assert self.live is not None
        metadata, version = self.live["metadata"], self.endpoint.api_version
        paths = dict.fromkeys(("apps/v1", "ex.io/v1", "ex.io/v2"), ("spec", "replicas"))
        entries = entries_of_scale(metadata.get("managedFields"), paths)
        scale = {
            "apiVersion": "autoscaling/v1",
            "kind": "Scale",
            "metadata": {"name": "x", "uid": "u", "managedFields": entries},
            "spec": {"replicas": self.step["replicas"]},
            "status": {"replicas": 0},
        }
        endpoint = endpoint_of("Scale", "autoscaling/v1", "scale", is_custom_scale=self.kind == "Widget")
        written = self._written(scale, endpoint)["metadata"].get("managedFields")
        entries = entries_of_parent(metadata.get("managedFields"), written, api_version=version, paths=paths)
        return {**self.step["after"], "metadata": {**self.step["after"]["metadata"], "managedFields": entries}}


def recorded_steps(code: int) -> list[Any]:
    """The recorded writes that the server answered so; 200 for all that it did."""
    found = []
    for sequence in RECORDED["sequences"]:
        live = None
        for place, step in enumerate(sequence["steps"]):
            if step.get("code", 200) == code:
                name = f"{sequence['title']}, {place}: {step.get('subresource', '')} {step['op']} by {step['manager']}"
                found.append(pytest.param(sequence["kind"], live, step, id=name))
            live = step.get("after", live)
    return found


@pytest.mark.parametrize(("kind", "live", "step"), recorded_steps(200))
def test_a_recorded_write_leaves_the_managers_that_the_real_server_left(kind, live, step):
    after = step["after"]

    result = Recorded(kind, live, step).run()
    if live is not None:
        result = {**after, "metadata": result["metadata"]}
        keep_times(live, result, is_custom=kind == "Widget")

    spelled = json.dumps if kind != "Widget" else lambda entries: json.dumps(entries, sort_keys=True)
    assert spelled(result["metadata"].get("managedFields")) == spelled(after["metadata"].get("managedFields"))


@pytest.mark.parametrize(
    ("kind", "live", "step"),
    [step for step in recorded_steps(200) if step.values[2]["op"] == "apply" and "replicas" not in step.values[2]],
)
def test_a_recorded_apply_gives_the_object_that_the_real_server_gave(kind, live, step):
    recorded = Recorded(kind, live, step)

    result = recorded.run()

    assert without_managers(result, recorded.subresource) == without_managers(step["after"], recorded.subresource)


@pytest.mark.parametrize(("kind", "live", "step"), recorded_steps(409))
def test_a_recorded_conflict_is_told_as_the_real_server_told_it(kind, live, step):
    with pytest.raises(Conflicts) as conflicts:
        Recorded(kind, live, step).run()

    assert str(conflicts.value) == step["message"]
    assert sorted(conflicts.value.causes, key=lambda cause: (cause["message"], cause["field"])) == step["causes"]


@pytest.mark.parametrize(("kind", "live", "step"), recorded_steps(500))
def test_a_recorded_refusal_is_told_as_the_real_server_told_it(kind, live, step):
    with pytest.raises(TypedError) as error:
        Recorded(kind, live, step).run()

    assert str(error.value) == step["message"]


@pytest.mark.parametrize(("kind", "live", "step"), [step for code in (200, 409, 500) for step in recorded_steps(code)])
def test_a_recorded_write_leaves_what_it_was_given_alone(kind, live, step):
    before = json.dumps([live, step])

    with contextlib.suppress(Conflicts, TypedError):
        Recorded(kind, live, step).run()

    assert json.dumps([live, step]) == before
