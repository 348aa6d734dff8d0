"""Images tagged latest, said or meant, are pulled always."""

from __future__ import annotations

import pytest

from kubewright_apiserver.defaulting.image import pull_policy

DIGEST = "sha256:" + "a" * 64


@pytest.mark.parametrize(
    "image",
    [
        "busybox",
        "busybox:latest",
        "library/busybox",
        "docker.io/busybox",
        "index.docker.io/busybox",
        "localhost/busybox",
        "registry.example.com:5000/team/app",
        "[::1]:5000/app",
        "TEAM/app",
        f"busybox:latest@{DIGEST}",
    ],
)
def test_the_latest_image_is_pulled_always(image):
    assert pull_policy(image) == "Always"


@pytest.mark.parametrize("image", ["busybox:1", "registry.example.com:5000/app:1", f"busybox@{DIGEST}"])
def test_a_certain_image_is_pulled_once(image):
    assert pull_policy(image) == "IfNotPresent"


@pytest.mark.parametrize(
    "image",
    ["", "Busybox", "a//b", "a b", "busybox:", "a" * 64, "x/" + "a" * 256, "busybox:latest@sha256:" + "a" * 40],
)
def test_an_image_that_cannot_be_read_is_not_the_latest(image):
    assert pull_policy(image) == "IfNotPresent"
