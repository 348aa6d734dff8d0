"""Objects from YAML files that are packaged with an operator."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubewright.errors import ConfigError
from kubewright.kinds.apps_v1 import Deployment
from kubewright.operation import load_operand, read_operand

GOOD = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      volumes:
        - name: scratch
          emptyDir: {}
      containers:
        - name: main
          image: nginx
          ports:
            - containerPort: 80
          resources:
            limits: {cpu: 500m}
"""


def test_a_good_file_gives_a_fresh_object_each_time() -> None:
    one = read_operand(Deployment, GOOD, "web.yaml")
    one.spec.template.spec.containers[0].image = "other"

    other = read_operand(Deployment, GOOD, "web.yaml")

    assert other.spec.template.spec.containers[0].image == "nginx"
    assert other.spec.template.spec.containers[0].ports[0].container_port == 80


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("containerPort: 80", "containerPort: eighty", "web.yaml, line 19: Expected `int`, got `str` "
         "(spec.template.spec.containers.0.ports.0.containerPort)"),
        ("          image: nginx", "          imaeg: nginx", "web.yaml, line 17: there is no field 'imaeg' "
         "(spec.template.spec.containers.0.imaeg)"),
        ("        - name: main\n          image", "        - image", "web.yaml, line 16: Object missing required field "
         "`name` (spec.template.spec.containers.0)"),
        ("kind: Deployment", "kind: StatefulSet", "web.yaml, line 2: kind is 'StatefulSet', and must be 'Deployment' "
         "(kind)"),
        ("apiVersion: apps/v1\n", "", "web.yaml, line 1: apiVersion is None, and must be 'apps/v1' (apiVersion)"),
        ("  name: web\nspec", "  name: web\n  name: two\nspec", "web.yaml, line 5: metadata.name is said twice"),
        ("      labels: {app: web}", "      labels: {app: web", "web.yaml, line 11: this is no YAML: "
         "expected ',' or '}', but got ':'"),
        (GOOD, "- a\n", "web.yaml, line 1: this is no object of Kubernetes"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_file_and_line(old: str, new: str, problem: str) -> None:
    assert old in GOOD

    with pytest.raises(ConfigError) as refusal:
        read_operand(Deployment, GOOD.replace(old, new), "web.yaml")

    assert str(refusal.value) == problem


def test_a_file_is_found_in_its_package_wherever_that_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "some_operator"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "web.yaml").write_text(GOOD)
    monkeypatch.syspath_prepend(tmp_path)

    assert load_operand(Deployment, "some_operator", "web.yaml").name == "web"
    with pytest.raises(ConfigError, match=r"package some_operator has no file other\.yaml"):
        load_operand(Deployment, "some_operator", "other.yaml")
