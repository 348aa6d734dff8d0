"""Bodies in protobuf that are slightly wrong: what Go makes of each is recorded."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright_apiserver.data import described_kinds
from kubewright_apiserver.protobuf import Decoder, MalformedProtobuf, definition_of, open_envelope, sealed
from kubewright_apiserver.schema.decoding import normalised_as
from kubewright_apiserver.schema.quantity import canonical_quantity

DATA = Path(__file__).parent / "data/protobuf_mutants.jsonl.xz"
MUTANTS = [json.loads(line) for line in lzma.decompress(DATA.read_bytes()).splitlines()]
CONFIG_MAP = "io.k8s.api.core.v1.ConfigMap"
DECODER = Decoder(canonical_quantity)


def outcome(case: dict[str, Any]) -> Any:
    """The object in a body as it is written, or what is wrong with it."""
    try:
        envelope = open_envelope(bytes.fromhex(case["data"]))
        said = {"kind": envelope.kind or case["kind"], "apiVersion": envelope.api_version or case["version"]}
        definition = definition_of(said["apiVersion"], said["kind"])
        return normalised_as(definition, said | DECODER.decode(definition, envelope.message))
    except KeyError:
        return "no kind"
    except ValueError as error:
        return str(error)


def expected(case: dict[str, Any]) -> Any:
    """What Go said."""
    if "object" in case:
        obj = case["object"]
        return normalised_as(definition_of(obj["apiVersion"], obj["kind"]), obj)
    return "no kind" if case["error"].startswith("no kind") else case["error"]


def test_every_mutant_is_read_or_refused_as_by_go():
    different = [(case, found) for case in MUTANTS if (found := outcome(case)) != expected(case)]

    assert not different


def test_there_are_mutants_of_many_sorts():
    assert sum("object" in case for case in MUTANTS) > 100
    assert len({case.get("error") for case in MUTANTS}) > 30


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "empty data"),
        (b"k8s", "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"),
        (b"k8s\x00", "empty body"),
        (b"k8s\x00\xff\xff", "unexpected EOF"),
        (b"k8s\x00\x08\x01", "proto: wrong wireType = 0 for field TypeMeta"),
        (b"k8s\x00\x0a\x50", "unexpected EOF"),
        (b"k8s\x00\x0c", "proto: Unknown: wiretype end group for non-group"),
        (b"k8s\x00\x02\x00", "proto: Unknown: illegal tag 0 (wire type 2)"),
        (b"k8s\x00\x0a\x02\x08\x01", "proto: wrong wireType = 0 for field APIVersion"),
    ],
)
def test_what_is_no_envelope_is_refused_in_words_of_go(data: bytes, why: str):
    with pytest.raises(MalformedProtobuf) as refused:
        open_envelope(data)

    assert str(refused.value) == why


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (b"\x0a\x20abc", "unexpected EOF"),
        (b"\x08\x03", "proto: wrong wireType = 0 for field ObjectMeta"),
        (b"\x0a\x02\x08\x03", "proto: wrong wireType = 0 for field Name"),
        (b"\x0a\x02\x28\x03", "proto: wrong wireType = 0 for field UID"),
        (b"\x0c", "proto: ConfigMap: wiretype end group for non-group"),
        (b"\x02\x00", "proto: ConfigMap: illegal tag 0 (wire type 2)"),
        (b"\xff" * 11, "proto: integer overflow"),
        (b"\x0a" + b"\xff" * 9 + b"\x01", "proto: negative length found during unmarshaling"),
        (b"\xff\x01", "proto: illegal wireType 7"),
        (b"\xfb\x01\x08\x01", "unexpected EOF"),
        (b"\x12\x04\x1a\x05ab", "unexpected EOF"),
    ],
)
def test_what_is_no_message_is_refused_in_words_of_go(message: bytes, why: str):
    with pytest.raises(MalformedProtobuf) as refused:
        DECODER.decode(CONFIG_MAP, message)

    assert str(refused.value) == why


@pytest.mark.parametrize(
    ("message", "found"),
    [
        (b"\x9a\x06\x02hi\x0a\x03\x0a\x01a", {"metadata": {"name": "a"}}),
        (b"\x9b\x06\x08\x01\x9c\x06\x0a\x03\x0a\x01a", {"metadata": {"name": "a"}}),
        (b"\x0a\x03\x0a\x01a\x0a\x03\x1a\x01b", {"metadata": {"name": "a", "namespace": "b"}}),
        (b"\x0a\x03\x0a\x01a\x0a\x02\x0a\x00", {"metadata": {}}),
        (b"\x12\x06\x12\x01v\x0a\x01k", {"data": {"k": "v"}}),
        (b"\x12\x00", {"data": {"": ""}}),
        (b"\x12\x08\x0a\x01k\x12\x03a\xffb", {"data": {"k": "a\ufffdb"}}),
        (b"\x12\x08\x0a\x01k\x12\x03\xe2\x82b", {"data": {"k": "\ufffd\ufffdb"}}),
        (b"\x20\x02", {"immutable": True}),
        (b"\x8a\x80\x80\x80\x80\x01\x03\x0a\x01a", {"metadata": {"name": "a"}}),
    ],
)
def test_messages_that_go_would_not_write_are_read_as_by_go(message: bytes, found: dict[str, Any]):
    assert DECODER.decode(CONFIG_MAP, message) == found


@pytest.mark.parametrize(
    ("said", "version"), [("a/b/c", ""), ("apps/", ""), ("", ""), ("v1", "v1"), ("apps/v1", "apps/v1")]
)
def test_a_version_that_is_none_is_left_to_the_address(said: str, version: str):
    assert open_envelope(sealed(said, "ConfigMap", b"")).api_version == version


@settings(derandomize=True, max_examples=400, deadline=None)
@given(st.sampled_from(sorted(described_kinds())), st.binary(max_size=60))
def test_no_bytes_are_worse_than_malformed(definition: str, message: bytes):
    try:
        found = DECODER.decode(definition, message)
    except ValueError:
        return

    assert isinstance(found, dict)


def test_a_message_is_read_alike_the_first_time_and_later():
    decoder = Decoder(canonical_quantity)
    message = b"\x0a\x07\x0a\x01a\x1a\x02ns\x12\x06\x0a\x01k\x12\x01v"

    found = [decoder.decode(CONFIG_MAP, message) for _ in range(10)]

    assert found == [{"metadata": {"name": "a", "namespace": "ns"}, "data": {"k": "v"}}] * 10


def test_a_message_is_refused_alike_the_first_time_and_later():
    decoder = Decoder(canonical_quantity)
    words = set()

    for number in range(20):
        with pytest.raises(MalformedProtobuf) as refused:
            decoder.decode(CONFIG_MAP, b"\x0a\x20abc")
        words.add(str(refused.value))
        decoder.decode(CONFIG_MAP, b"\x20" + bytes((number % 2,)))

    assert words == {"unexpected EOF"}
