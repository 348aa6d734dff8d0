from __future__ import annotations

import base64
import stat
from pathlib import Path

import yaml

from kubewright.testing.identities import Identities


def test_every_file_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    identities = Identities(tmp_path)

    identities.admin_kubeconfig("https://127.0.0.1:1")

    assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()} == {0o600}


def test_a_kubeconfig_embeds_the_authority_and_points_at_the_server(tmp_path: Path) -> None:
    identities = Identities(tmp_path)

    document = yaml.safe_load(identities.kubeconfig("https://127.0.0.1:1", "alice").read_text(encoding="utf-8"))

    cluster = document["clusters"][0]["cluster"]
    assert cluster["server"] == "https://127.0.0.1:1"
    assert base64.b64decode(cluster["certificate-authority-data"]) == identities.ca_file.read_bytes()


def test_the_same_user_may_be_asked_for_twice(tmp_path: Path) -> None:
    identities = Identities(tmp_path)

    first = identities.kubeconfig("https://127.0.0.1:1", "system:node/a", ["system:nodes"])
    second = identities.kubeconfig("https://127.0.0.1:1", "system:node/a", ["system:nodes"])

    assert first != second
    assert first.parent == second.parent == tmp_path
