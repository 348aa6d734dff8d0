"""Objects of every kind in protobuf, as Go writes them: to JSON and back, byte for byte."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from kubewright_apiserver.protobuf import Decoder, definition_of, encode, encode_list, open_envelope, written_object
from kubewright_apiserver.protobuf.canonical import CanonicalReader
from kubewright_apiserver.protobuf.exact import ExactReader
from kubewright_apiserver.protobuf.leaves import leaves
from kubewright_apiserver.schema.decoding import normalised_as
from kubewright_apiserver.schema.quantity import canonical_quantity

DATA = Path(__file__).parent / "data/protobuf_objects.jsonl.xz"
OBJECTS = [json.loads(line) for line in lzma.decompress(DATA.read_bytes()).splitlines()]
TYPE = ("apiVersion", "kind")
IDS = [f"{number}-{case['object']['kind']}" for number, case in enumerate(OBJECTS)]
EXACT = ExactReader(leaves(canonical_quantity))
DECODER = Decoder(canonical_quantity)
META = "io.k8s.apimachinery.pkg.apis.meta.v1."


def without_kinds(obj: dict[str, Any]) -> dict[str, Any]:
    """An object without what it and the objects inside of it say they are; in protobuf only the envelope says that."""
    spec, options = obj.get("spec", {}), obj.get("deleteOptions", {})
    obj = {key: value for key, value in obj.items() if key not in TYPE}
    if options:
        obj["deleteOptions"] = {key: value for key, value in options.items() if key not in TYPE}
    if "volumeClaimTemplates" in spec:
        obj["spec"] = {**spec, "volumeClaimTemplates": [without_kinds(one) for one in spec["volumeClaimTemplates"]]}
    return obj


@pytest.mark.parametrize("case", OBJECTS, ids=IDS)
def test_a_body_says_what_the_same_object_in_json_says(case: dict[str, Any]):
    obj = case["object"]
    envelope = open_envelope(bytes.fromhex(case["data"]))
    definition = definition_of(envelope.api_version, envelope.kind)

    found = DECODER.decode(definition, envelope.message)

    said = {"kind": envelope.kind, "apiVersion": envelope.api_version}
    assert normalised_as(definition, said | found) == normalised_as(definition, said | without_kinds(obj))


@pytest.mark.parametrize("case", OBJECTS, ids=IDS)
def test_an_object_is_written_byte_for_byte_as_by_go(case: dict[str, Any]):
    written = written_object(case["object"])

    assert written.hex() == case["data"]


@pytest.mark.parametrize("case", OBJECTS, ids=IDS)
def test_what_go_writes_is_read_alike_by_both_readers(case: dict[str, Any]):
    obj = case["object"]
    definition, message = (
        definition_of(obj["apiVersion"], obj["kind"]),
        open_envelope(bytes.fromhex(case["data"])).message,
    )
    exactly: dict[str, Any] = {}

    canonically = CanonicalReader(EXACT).read(definition, message)
    EXACT.read(definition, exactly, message, 0, len(message))

    assert canonically == exactly


def test_a_list_is_its_metadata_and_the_messages_of_its_items():
    maps = [{"metadata": {"name": "a"}, "data": {"k": "v"}}, {"metadata": {"name": "b"}}]
    document: dict[str, Any] = {"metadata": {"resourceVersion": "7", "remainingItemCount": 3}, "items": maps}
    items = [encode("io.k8s.api.core.v1.ConfigMap", one) for one in maps]

    parts = encode_list("io.k8s.api.core.v1.ConfigMapList", document["metadata"], items)

    assert b"".join(parts) == encode("io.k8s.api.core.v1.ConfigMapList", document)


def test_the_older_list_of_metadata_has_its_items_first():
    items = [encode(f"{META}PartialObjectMetadata", {"metadata": {"name": "a"}})]

    parts = encode_list("io.k8s.apimachinery.pkg.apis.meta.v1beta1.PartialObjectMetadataList", {}, items)

    assert b"".join(parts).hex() == "0a130a110a016112001a0022002a0032003800420012060a0012001a00"


@pytest.mark.parametrize(
    ("definition", "value", "written"),
    [
        (f"{META}DeleteOptions", {"gracePeriodSeconds": 0}, "0800"),
        (f"{META}DeleteOptions", {"gracePeriodSeconds": -1}, "08ffffffffffffffffff01"),
        (f"{META}DeleteOptions", {"preconditions": {"uid": ""}}, "12020a00"),
        (f"{META}DeleteOptions", {"orphanDependents": False, "dryRun": []}, "1800"),
        ("io.k8s.api.core.v1.SecretList", {"metadata": None}, "0a060a0012001a00"),
        ("io.k8s.api.authentication.v1.UserInfo", {"extra": {"b": [], "a": ["x", ""]}},
         "0a001200" "220a0a016112050a01780a00" "22050a01621200"),
        ("io.k8s.api.policy.v1.PodDisruptionBudgetStatus", {"disruptedPods": {"p": None}},
         "0800" "12050a01701200" "1800" "2000" "2800" "3000"),
        ("io.k8s.api.networking.v1.ServiceBackendPort", {"number": 8080}, "0a0010903f"),
        ("io.k8s.api.core.v1.HTTPGetAction", {"port": "http"}, "0a00120a0801100" "01a0468747470" "1a002200"),
        ("io.k8s.api.core.v1.HTTPGetAction", {"port": -1}, "0a00120f0800" "10ffffffffffffffffff01" "1a00" "1a002200"),
    ],
)  # fmt: skip
def test_values_that_are_nothing_or_almost_nothing(definition: str, value: dict[str, Any], written: str):
    assert encode(definition, value).hex() == written


@pytest.mark.parametrize(
    ("definition", "message", "found"),
    [
        ("io.k8s.api.apps.v1.DeploymentSpec", "0800", {"replicas": 0}),
        ("io.k8s.api.apps.v1.DeploymentSpec", "2800", {}),
        ("io.k8s.api.core.v1.ObjectReference", "0a00", {}),
        ("io.k8s.api.core.v1.EnvVar", "0a016112001a00", {"name": "a", "valueFrom": {}}),
        ("io.k8s.api.coordination.v1.LeaseSpec", "1a00", {}),
        ("io.k8s.api.coordination.v1.LeaseSpec", "1a0908e0f6b8ba0610ef0f",
         {"acquireTime": "2024-12-02T22:57:36.000002Z"}),
        (f"{META}ObjectMeta", "420208001a00", {"creationTimestamp": "1970-01-01T00:00:00Z"}),
        (f"{META}ObjectMeta", "420b088092b8c398feffffff01", {}),
        (f"{META}ObjectMeta", "420a08ffffffffffffffff7f", {"creationTimestamp": "9999-12-31T23:59:59Z"}),
        ("io.k8s.api.core.v1.ResourceRequirements", "0a0e0a0363707512070a05313030306d", {"limits": {"cpu": "1"}}),
        ("io.k8s.api.core.v1.ResourceRequirements", "0a070a036370751200", {"limits": {"cpu": "0"}}),
        ("io.k8s.api.core.v1.PodSecurityContext", "20012002", {"supplementalGroups": [1, 2]}),
        ("io.k8s.api.core.v1.PodSecurityContext", "22020102", {"supplementalGroups": [1, 2]}),
        ("io.k8s.api.core.v1.PodSecurityContext", "10ffffffffffffffffff01", {"runAsUser": -1}),
        ("io.k8s.api.core.v1.Volume", "0a017612040a020a00", {"name": "v", "hostPath": {}}),
    ],
)  # fmt: skip
def test_zeros_mean_nothing_unless_they_are_pointed_to(definition: str, message: str, found: dict[str, Any]):
    assert DECODER.decode(definition, bytes.fromhex(message)) == found
