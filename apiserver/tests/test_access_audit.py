"""What auditors are told of a request, and of which."""

from __future__ import annotations

import itertools
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from kubewright_apiserver.access.attributes import attributes_of
from kubewright_apiserver.access.audit import AuditLog, Trail
from kubewright_apiserver.access.authorization import Decision
from kubewright_apiserver.access.user import User

JANE = User(name="jane", groups=("devs",), extra={"k": ("v",)})
ROBOT = User(name="robot")
NOW = datetime(2026, 1, 1, 12, 30, 5, 4321, tzinfo=UTC)
TIME = "2026-01-01T12:30:05.004321Z"


class Auditor:
    def __init__(self, path: Path, policy: dict[str, Any] | None = None) -> None:
        ids = itertools.count(1)
        self.path = path / "audit.log"
        self.log = AuditLog(self.path, policy=policy, now=lambda: NOW, new_id=lambda: f"id-{next(ids)}")

    def trail(self, method: str, target: str, audit_id: str = "") -> Trail:
        path, _, query = target.partition("?")
        return self.log.begin(target, attributes_of(method, path, query), "kubectl/1", "127.0.0.1", audit_id)

    def ask(self, method: str, target: str, user: User = JANE) -> None:
        trail = self.trail(method, target)
        trail.authenticated(user)
        trail.decided(Decision(True))
        trail.completed(200)

    def told(self) -> list[dict[str, Any]]:
        return [orjson.loads(line) for line in self.path.read_bytes().splitlines()]

    def stages(self) -> list[str]:
        return [f"{event['user'].get('username', '')} {event['verb']} {event['stage']}" for event in self.told()]


def test_a_request_is_told_of_when_it_comes_and_when_it_is_answered(tmp_path: Path):
    auditor = Auditor(tmp_path)

    trail = auditor.trail("POST", "/api/v1/namespaces/shop/configmaps?dryRun=All")
    trail.authenticated(JANE)
    trail.decided(Decision(True, "RBAC: allowed by x"))
    trail.sent(b'{"data": {"password": "x"}}', "application/json")
    trail.completed(201, {"kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"password": "x"}})

    common = {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "Metadata",
        "auditID": "id-1",
        "requestURI": "/api/v1/namespaces/shop/configmaps?dryRun=All",
        "verb": "create",
        "user": {"username": "jane", "groups": ["devs"], "extra": {"k": ["v"]}},
        "sourceIPs": ["127.0.0.1"],
        "userAgent": "kubectl/1",
        "requestReceivedTimestamp": TIME,
        "stageTimestamp": TIME,
    }
    place = {"resource": "configmaps", "namespace": "shop", "apiVersion": "v1"}
    assert auditor.told() == [
        {**common, "stage": "RequestReceived", "objectRef": place},
        {
            **common,
            "stage": "ResponseComplete",
            "objectRef": {**place, "name": "a"},
            "responseStatus": {"metadata": {}, "code": 201},
            "annotations": {
                "authorization.k8s.io/decision": "allow",
                "authorization.k8s.io/reason": "RBAC: allowed by x",
            },
        },
    ]


def test_a_refusal_is_told_with_its_words(tmp_path: Path):
    auditor = Auditor(tmp_path)

    trail = auditor.trail("GET", "/apis/apps/v1/deployments")
    trail.authenticated(JANE)
    trail.acting_as(User(name="bob", uid="u"), "impersonate:user-info")
    trail.decided(Decision(False))
    details = {"kind": "deployments"}
    trail.completed(403, {"kind": "Status", "status": "Failure", "message": "no", "reason": "R", "details": details})

    event = auditor.told()[-1]
    assert event["impersonatedUser"] == {"username": "bob", "uid": "u"}
    assert event["authenticationMetadata"] == {"impersonationConstraint": "impersonate:user-info"}
    assert event["objectRef"] == {"resource": "deployments", "apiGroup": "apps", "apiVersion": "v1"}
    assert event["annotations"]["authorization.k8s.io/decision"] == "forbid"
    assert event["responseStatus"] == {
        "metadata": {},
        "status": "Failure",
        "message": "no",
        "reason": "R",
        "details": details,
        "code": 403,
    }


def test_wrong_credentials_are_told_of_once(tmp_path: Path):
    auditor = Auditor(tmp_path)

    trail = auditor.trail("GET", "/api/v1/pods", audit_id="mine")
    trail.refused({"code": 401, "message": "Unauthorized"})
    trail.completed(401)

    assert [(event["auditID"], event["stage"], event["user"]) for event in auditor.told()] == [
        ("mine", "ResponseStarted", {})
    ]


def test_paths_have_no_object(tmp_path: Path):
    auditor = Auditor(tmp_path)

    auditor.ask("GET", "/version")

    assert "objectRef" not in auditor.told()[0]


def test_the_first_rule_that_fits_decides(tmp_path: Path):
    rules = [
        {"level": "None", "users": ["robot"]},
        {"level": "None", "verbs": ["watch"], "resources": [{"group": "", "resources": ["pods"]}]},
        {"level": "None", "nonResourceURLs": ["/healthz*"]},
        {"level": "None", "resources": [{"group": "apps", "resources": ["*/scale"], "resourceNames": ["d"]}]},
        {"level": "Request", "userGroups": ["devs"], "omitStages": ["RequestReceived"]},
    ]
    auditor = Auditor(tmp_path, {"rules": rules})

    auditor.ask("GET", "/api/v1/pods", ROBOT)
    auditor.ask("GET", "/api/v1/pods?watch=1")
    auditor.ask("GET", "/healthz/etcd")
    auditor.ask("PUT", "/apis/apps/v1/namespaces/a/deployments/d/scale")
    auditor.ask("GET", "/api/v1/pods")
    auditor.ask("GET", "/api/v1/pods", User(name="eve"))

    assert auditor.stages() == ["jane list ResponseComplete"]
    assert auditor.told()[0]["level"] == "Request"


@pytest.mark.parametrize(
    ("rule", "target", "is_told"),
    [
        ({"namespaces": ["shop"]}, "/api/v1/namespaces/shop/pods", True),
        ({"namespaces": ["shop"]}, "/api/v1/namespaces/other/pods", False),
        ({"namespaces": [""]}, "/api/v1/nodes", True),
        ({"resources": [{"group": ""}]}, "/api/v1/nodes", True),
        ({"resources": [{"group": "*", "resources": ["pods/*"]}]}, "/api/v1/namespaces/a/pods/p/log", True),
        ({"resources": [{"group": "", "resources": ["pods"]}]}, "/api/v1/namespaces/a/pods/p/log", False),
        ({"nonResourceURLs": ["*"]}, "/api/v1/nodes", False),
        ({"nonResourceURLs": ["/version"]}, "/version", True),
    ],
)
def test_a_rule_is_about_places_and_resources(tmp_path: Path, rule: dict[str, Any], target: str, is_told: bool):
    auditor = Auditor(tmp_path, {"rules": [{"level": "Metadata", **rule}]})

    auditor.ask("GET", target)

    assert bool(auditor.told()) is is_told


@pytest.mark.parametrize("policy", [{"rules": [{"level": "Some"}]}, {"rules": [], "omitStages": ["Never"]}])
def test_a_policy_that_means_nothing_is_refused(tmp_path: Path, policy: dict[str, Any]):
    with pytest.raises(ValueError, match="audit policy"):
        Auditor(tmp_path, policy)


def test_the_log_is_added_to_and_readable_by_its_owner_alone(tmp_path: Path):
    for _ in range(2):
        auditor = Auditor(tmp_path)
        auditor.ask("GET", "/version")
        auditor.log.close()
        auditor.ask("GET", "/version")

    assert len(auditor.told()) == 4
    assert stat.S_IMODE(auditor.path.stat().st_mode) == 0o600
