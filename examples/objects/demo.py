"""What `make demo` shows for now: a kind of your own, read and changed without losing what others wrote.

No cluster is needed. The operator loop and the API server in the box come next; then this becomes the PodSet show.
"""

from __future__ import annotations

import json
from typing import Annotated

from kubewright import LabelSelector, ListMap, Metadata, Model, Quantity, Resource, Status
from kubewright.api import changes, decode, to_dict


class Component(Model):
    """One part of a Service."""

    name: str
    replicas: int = 1
    memory: Quantity | None = None


class ServiceSpec(Model):
    """What is wanted: components, told apart by name."""

    components: Annotated[list[Component], ListMap("name")] = []


class Service(Resource, group="myservice.io", version="v1alpha1"):
    """A service of several components."""

    spec: ServiceSpec
    status: Status = Status()


FROM_THE_SERVER = b"""{
  "apiVersion": "myservice.io/v1alpha1", "kind": "Service",
  "metadata": {"name": "shop", "resourceVersion": "41", "generation": 2},
  "spec": {"components": [
    {"name": "web", "replicas": 2, "memory": "512Mi", "addedInNextVersion": {"keep": "me"}},
    {"name": "db",  "replicas": 1, "memory": "1Gi"}]}
}"""


def show(title: str, value: object) -> None:
    """Print a step of the demonstration."""
    print(f"\n▸ {title}\n  {value if isinstance(value, str) else json.dumps(value)}")


def main() -> None:
    """Walk through reading, changing and writing one object."""
    print("kubewright: objects (the operator and the API server in the box come next)")

    shop = decode(Service, FROM_THE_SERVER)
    show("read into types", repr(shop.spec.components[0]))

    total = sum((component.memory or Quantity(0)) * component.replicas for component in shop.spec.components)
    show("quantities add up exactly", f"{total.canonical()} of memory wanted")

    shop.spec.components[0].replicas = 3
    shop.spec.components.append(Component(name="cache"))
    shop.status.set("Ready", False, reason="RollingOut", message="2 of 3")
    show("what an update would send; the unknown field of `web` is still there", changes(shop))

    made = Service(metadata=Metadata(name="new"), spec=ServiceSpec(components=[Component(name="web")]))
    show("made in Python, as it goes over the wire", to_dict(made))

    selector = LabelSelector.parse("app=shop,tier in (web,cache),!legacy")
    show("selectors match here as on the server", str(selector.matches({"app": "shop", "tier": "web"})))

    print("\nNext: `make test`, and README.md for the client.")


if __name__ == "__main__":
    main()
