"""§1.2, §1.3, §5 Limits: of bodies, depth, patches, numbers, names, parameters, tokens and warnings."""

from __future__ import annotations

import base64
import json
from typing import Any
from urllib.parse import quote

import pytest
import pytest_asyncio

from conformance.exchange import Api
from conformance.objects import CRDS, MAPS, PODS, config_map, crd

pytestmark = pytest.mark.section("1.2")

MEBIBYTE = 1 << 20
LIMIT = 3 * MEBIBYTE
GROUP = "limits.example.com"
BLOBS = f"/apis/{GROUP}/v1/namespaces/{{ns}}/blobs"
YAML = "application/yaml"


def blob(name: str = "a", **fields: Any) -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/v1", "kind": "Blob", "metadata": {"name": name}, **fields}


@pytest_asyncio.fixture
async def blobs(api: Api) -> str:
    """Where objects of any shape are."""
    with api.unrecorded():
        await api.post(CRDS, crd("blobs", GROUP))
        while (await api.get(BLOBS)).status != 200:
            pass
    return BLOBS


def nested(depth: int, opening: str, closing: str) -> str:
    return opening * depth + "1" + closing * depth


def maps(depth: int) -> str:
    return nested(depth, '{"a":', "}")


def lists(depth: int) -> str:
    return nested(depth, "[", "]")


def padded(size: int) -> bytes:
    """A ConfigMap with an unknown field that makes its body that large."""
    start, end = b'{"metadata":{"name":"a"},"pad":"', b'"}'
    return start + b"x" * (size - len(start) - len(end)) + end


async def test_a_body_of_just_the_limit(api: Api):
    await api.post(MAPS, padded(LIMIT), query={"dryRun": "All"})
    await api.post(MAPS, padded(LIMIT + 1), query={"dryRun": "All"})


async def test_bodies_beyond_the_limit(api: Api):
    large = padded(LIMIT + 1)
    await api.post(MAPS, config_map())
    await api.put(MAPS + "/a", large)
    for type in ("json", "merge", "strategic"):
        await api.patch(MAPS + "/a", large, type=type)
    await api.patch(MAPS + "/a", large, type="apply", query={"fieldManager": "m"})
    await api.delete(MAPS + "/a", large)
    await api.post(MAPS, large, query={"dryRun": "nonsense"})


@pytest.mark.parametrize("type", ["text/plain", "application/xml"])
async def test_a_large_body_of_an_unknown_type(api: Api, type: str):
    await api.post(MAPS, padded(LIMIT + 1), content_type=type)
    await api.patch(MAPS + "/a", padded(LIMIT + 1), type=type)


@pytest.mark.parametrize("inner", [lists(200), maps(200)], ids=["lists", "maps"])
async def test_json_that_is_nested_deeply(api: Api, blobs: str, inner: str):
    dry = {"dryRun": "All"}
    await api.post(MAPS, f'{{"metadata":{{"name":"a"}},"x":{inner}}}'.encode(), query=dry)
    await api.post(blobs, json.dumps(blob()).replace("}}", f'}}, "x": {inner}}}').encode())
    await api.patch(blobs + "/a", f'{{"y":{inner}}}'.encode())
    await api.patch(blobs + "/a", f'[{{"op":"add","path":"/z","value":{inner}}}]'.encode(), type="json")
    text = json.dumps(blob("b")).replace("}}", f'}}, "x": {inner}}}')
    await api.patch(blobs + "/b", text.encode(), type="apply", query={"fieldManager": "m"})


@pytest.mark.parametrize("inner", [lists(10_001), maps(10_001)], ids=["lists", "maps"])
async def test_json_that_is_nested_too_deeply(api: Api, blobs: str, inner: str):
    await api.post(MAPS, config_map())
    await api.post(blobs, blob())
    await api.post(MAPS, f'{{"metadata":{{"name":"b"}},"x":{inner}}}'.encode())
    await api.post(blobs, json.dumps(blob("b")).replace("}}", f'}}, "x": {inner}}}').encode())
    await api.put(MAPS + "/a", f'{{"metadata":{{"name":"a"}},"x":{inner}}}'.encode())
    for validation in ("Warn", "Ignore"):
        query = {"fieldValidation": validation}
        for path in (MAPS, blobs):
            await api.patch(path + "/a", f'{{"x":{inner}}}'.encode(), query=query)
            await api.patch(
                path + "/a", f'[{{"op":"add","path":"/x","value":{inner}}}]'.encode(), type="json", query=query
            )
        await api.patch(MAPS + "/a", f'{{"x":{inner}}}'.encode(), type="strategic", query=query)
    await api.delete(MAPS + "/a", f'{{"x":{inner}}}'.encode())


async def test_yaml_that_is_nested_too_deeply(api: Api):
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
    text = f"{head}x: {'[' * 10_001}{']' * 10_001}\n".encode()
    await api.post(MAPS, text, content_type=YAML)
    await api.patch(MAPS + "/a", text, type="apply", query={"fieldManager": "m"})
    flow = f'{{"apiVersion":"v1","kind":"ConfigMap","x":{maps(10_001)}}}'.encode()
    await api.patch(MAPS + "/a", flow, type="apply", query={"fieldManager": "m"})


def bomb(levels: int, inner: str) -> bytes:
    """Each level stands for ten of the one before."""
    lines = ["apiVersion: v1", "kind: ConfigMap", "metadata: {name: a}", "a0: &a0 {x: 1}"]
    for level in range(1, levels):
        aliases = ", ".join([f"*a{level - 1}"] * 10)
        lines.append(f"a{level}: &a{level} {inner.replace('*', aliases)}")
    return "\n".join(lines).encode()


@pytest.mark.parametrize("levels", [2, 3])
@pytest.mark.parametrize("inner", ["[*]", "{<<: [*]}"], ids=["lists", "merges"])
async def test_yaml_with_many_aliases(api: Api, levels: int, inner: str):
    await api.post(MAPS, bomb(levels, inner), content_type=YAML, query={"dryRun": "All"})


@pytest.mark.parametrize("levels", [5, 9, 30])
@pytest.mark.parametrize("inner", ["[*]", "{<<: [*]}"], ids=["lists", "merges"])
async def test_yaml_whose_aliases_multiply(api: Api, levels: int, inner: str):
    await api.post(MAPS, bomb(levels, inner), content_type=YAML)
    await api.patch(MAPS + "/a", bomb(levels, inner), type="apply", query={"fieldManager": "m"})


@pytest.mark.parametrize("text", ["a: &a [*a]", "a: &a {b: *a}", "a: &a {<<: *a}", "a: *b"])
async def test_yaml_whose_aliases_lead_nowhere(api: Api, text: str):
    await api.post(MAPS, text.encode(), content_type=YAML)


@pytest.mark.parametrize("count", [10_000, 10_001])
async def test_a_json_patch_of_many_operations(api: Api, count: int):
    await api.post(MAPS, config_map(k="v"))
    operations = [{"op": "test", "path": "/data/k", "value": "v"}] * count
    await api.patch(MAPS + "/a", operations, type="json")
    await api.patch(MAPS + "/nope", operations, type="json")


async def test_a_json_patch_that_copies_too_much(api: Api):
    with api.unrecorded():
        await api.post(MAPS, config_map(k="x" * 500_000))
    for count in (6, 7):
        copies = [{"op": "copy", "from": "/data/k", "path": f"/data/k{number}"} for number in range(count)]
        await api.patch(MAPS + "/a", copies, type="json")


async def test_a_json_patch_that_doubles_again_and_again(api: Api):
    await api.post(MAPS, config_map(k="v"))
    copies = [{"op": "copy", "from": "/data", "path": f"/data/k{number}"} for number in range(60)]
    await api.patch(MAPS + "/a", copies, type="json")


@pytest.mark.parametrize("kibibytes", [1540, 2048, 2900])
async def test_an_object_that_etcd_does_not_take(api: Api, blobs: str, kibibytes: int):
    text = "x" * (kibibytes * 1024)
    await api.post(blobs, blob("large", x=text))
    await api.patch(blobs + "/large", blob("large", x=text), type="apply", query={"fieldManager": "m"})
    with api.unrecorded():
        await api.post(blobs, blob("small"))
        patched = await api.patch(blobs + "/small", {"x": text})
        dry = await api.post(blobs, blob("large", x=text), query={"dryRun": "All"})

    assert (patched.status, dry.status) == (500, 201)


async def test_an_object_that_fits_without_its_managed_fields(api: Api, blobs: str):
    fields = {f"k{number:05}": 1 for number in range(70_000)}
    with api.unrecorded():
        dry = await api.post(blobs, blob(x=fields), query={"dryRun": "All"})
        created = await api.post(blobs, blob(x=fields))
        patched = await api.patch(blobs + "/a", {"x": {"more": 1}})

    assert (dry.status, created.status, patched.status) == (201, 201, 200)
    assert "managedFields" in dry.body["metadata"]
    assert "managedFields" not in created.body["metadata"]
    assert "managedFields" not in patched.body["metadata"]


@pytest.mark.parametrize("path", [MAPS, BLOBS], ids=["maps", "blobs"])
async def test_annotations_that_are_too_large(api: Api, blobs: str, path: str):
    def annotated(size: int) -> dict[str, Any]:
        metadata = {"name": "a", "annotations": {"k": "x" * (size - 1)}}
        return (config_map() if path == MAPS else blob()) | {"metadata": metadata}

    with api.unrecorded():
        fitting = await api.post(path, annotated(256 * 1024))
    await api.post(path, annotated(256 * 1024 + 1))

    assert fitting.status == 201


NUMBERS = ["1e400", "-1e400", "1" * 400, "1" * 4301, "1e-400", "5e-324", "1.5", "1e3", "-0", "9223372036854775807"]


@pytest.mark.parametrize("number", NUMBERS, ids=[f"{number[:20]} of {len(number)}" for number in NUMBERS])
async def test_numbers_that_are_large_and_small(api: Api, blobs: str, number: str):
    body = json.dumps(blob())
    await api.post(blobs, body.replace("}}", f'}}, "x": {number}}}').encode(), query={"dryRun": "All"})
    await api.post(MAPS, f'{{"metadata":{{"name":"a"}},"x":{number}}}'.encode(), query={"dryRun": "All"})
    spec = f'{{"terminationGracePeriodSeconds":{number},"serviceAccountName":"none","containers":[]}}'
    await api.post(PODS, f'{{"metadata":{{"name":"a"}},"spec":{spec}}}'.encode())


@pytest.mark.parametrize("number", ["1e400", "1" * 400, "1" * 4301], ids=["exponent", "hundreds", "thousands"])
async def test_numbers_in_patches_that_are_too_large(api: Api, blobs: str, number: str):
    await api.post(MAPS, config_map())
    await api.post(blobs, blob())
    for validation in ("Warn", "Ignore"):
        query = {"fieldValidation": validation}
        await api.patch(MAPS + "/a", f'{{"x":{number}}}'.encode(), query=query)
        await api.patch(MAPS + "/a", f'{{"x":{number}}}'.encode(), type="strategic", query=query)
    for path in (MAPS, blobs):
        await api.patch(path + "/a", f'[{{"op":"add","path":"/x","value":{number}}}]'.encode(), type="json")
    await api.patch(blobs + "/a", f'{{"x":{number}}}'.encode())


@pytest.mark.parametrize(
    ("count", "length"), [(10, 100), (10, 300), (20, 300), (30, 100), (40, 100), (14, 280), (100, 50), (120, 50)]
)
async def test_warnings_that_are_many_or_long(api: Api, count: int, length: int):
    unknown = {f"{'u' * length}{number}": 1 for number in range(count)}
    await api.post(MAPS, config_map() | unknown, query={"dryRun": "All"})


async def test_a_warning_that_is_longer_than_all_may_be(api: Api):
    await api.post(MAPS, config_map() | {"u" * 10_000: 1}, query={"dryRun": "All"})
    await api.post(MAPS, config_map() | {"a": 1, "ü" * 5_000: 2, "b": 3}, query={"dryRun": "All"})


async def test_warnings_of_fields_with_strange_names(api: Api, blobs: str):
    strange = {'a\n\tb"\\é\u2028': 1, "c\u0085d": 2, "e\x7ff": 3, "😀": 4}
    await api.post(MAPS, config_map() | strange, query={"dryRun": "All"})
    metadata = {"name": "a", "x\ny": 1, 'b"q': 2}
    await api.post(blobs, blob() | {"metadata": metadata}, query={"dryRun": "All"})
    repeated = json.dumps(blob()).replace("}}", '}, "a\\nb": 1, "a\\nb": 2}')
    await api.post(blobs, repeated.encode(), query={"dryRun": "All"})


async def test_unknown_metadata_of_a_custom_resource(api: Api, blobs: str):
    metadata = {"name": "a", **{f"unknown{number}": 1 for number in range(150)}}
    await api.post(blobs, blob() | {"metadata": metadata}, query={"dryRun": "All"})
    strict = {"dryRun": "All", "fieldValidation": "Strict"}
    await api.post(blobs, blob() | {"metadata": metadata}, query=strict)


async def test_a_field_that_is_repeated_thousands_of_times(api: Api):
    fields = ",".join(f'"k{number % 5}":"v"' for number in range(3000))
    body = f'{{"metadata":{{"name":"a"}},"data":{{{fields}}}}}'.encode()
    await api.post(MAPS, body, query={"dryRun": "All"})
    await api.post(MAPS, body, query={"dryRun": "All", "fieldValidation": "Strict"})


@pytest.mark.parametrize(
    "metadata",
    [5, [], "x", {"name": True}, {"name": "a", "labels": 5}, {"name": "a", "labels": {"a": 1}}, {"generation": "x"}],
    ids=str,
)
async def test_metadata_of_a_custom_resource_that_is_of_a_wrong_type(api: Api, blobs: str, metadata: Any):
    await api.post(blobs, blob())
    await api.post(blobs, blob() | {"metadata": metadata})
    await api.put(blobs + "/a", blob() | {"metadata": metadata})


ODD_NUMBERS = ["0", "-1", "9223372036854775808", "1e3", "1.5", " 1", "1_0", "", "abc", "0x10", "1" * 40, "+1", "٣"]


@pytest.mark.parametrize("number", ODD_NUMBERS)
async def test_parameters_that_are_odd_numbers(api: Api, number: str):
    for name in ("limit", "timeoutSeconds"):
        await api.get(MAPS, query={name: number, "labelSelector": "none"})
    await api.delete(MAPS + "/nope", query={"gracePeriodSeconds": number})


@pytest.mark.parametrize("number", ["9223372036854775808", "", "1_0"])
async def test_odd_times_of_watches(api: Api, number: str):
    await api.get(MAPS, query={"watch": "true", "timeoutSeconds": number, "labelSelector": "none"})


@pytest.mark.parametrize("number", ["9223372036854775807", "-5"])
async def test_watches_whose_time_is_over_end_at_once(api: Api, number: str):
    # Some end with an error of theirs instead: the real server has two clocks for them.
    with api.unrecorded():
        answer = await api.get(MAPS, query={"watch": "true", "timeoutSeconds": number, "labelSelector": "none"})

    assert answer.status == 200


@pytest.mark.parametrize("version", ["-1", "18446744073709551616", "1" * 50, "1_0", "+1", "1.0", "٣", " 1"])
async def test_odd_versions(api: Api, version: str):
    await api.get(MAPS + "/a", query={"resourceVersion": version})
    await api.get(MAPS, query={"resourceVersion": version})
    await api.get(MAPS, query={"watch": "true", "timeoutSeconds": 1, "resourceVersion": version})


def token(document: Any) -> str:
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def started(rv: Any, start: Any) -> str:
    return token({"v": "meta.k8s.io/v1", "rv": rv, "start": start})


TOKENS = {
    "nothing": token({}),
    "no base64": "***",
    "a letter": "a",
    "a line end": "ab\ncd",
    "no json": token(b"{"),
    "a list": token([]),
    "another version": token({"v": "v2"}),
    "no revision": started(0, "/a"),
    "a fraction": started(1.5, "/a"),
    "a text": started("1", "/a"),
    "too many bits": started(2**63, "/a"),
    "a number as key": started(5, 5),
    "no key": started(5, ""),
    "a way out": started(5, "/../../x"),
    "a dot": started(5, "/./a"),
    "a slash more": started(5, "//a"),
    "a slash at the end": started(5, "/a/"),
    "too deep": token(b"[" * 20_000),
    "padding": started(5, "/a") + "==",
}


@pytest.mark.parametrize("name", TOKENS)
async def test_tokens_that_nobody_gave(api: Api, name: str):
    await api.get(MAPS, query={"limit": 1, "continue": TOKENS[name]})


@pytest.mark.parametrize("start", ["/a\0", "a\0", "/aa", "/" + "a" * 300])
@pytest.mark.parametrize("version", [-1, -2])
async def test_tokens_of_whatever_is_newest(api: Api, version: int, start: str):
    for name in ("a", "b"):
        await api.post(MAPS, config_map(name))
    await api.get(MAPS, query={"limit": 5, "continue": started(version, start)})


async def test_selectors_that_are_long(api: Api):
    await api.post(MAPS, config_map(labels={"k1": "v"}))
    excluding = ",".join(f"k{number}!=v{number}" for number in range(1000))
    among = f"k1 in ({','.join(f'v{number}' for number in range(2000))})"
    names = ",".join(f"metadata.name!=x{number}" for number in range(500))
    with api.unrecorded():
        found = [
            len((await api.get(MAPS, query=query)).body["items"])
            for query in ({"labelSelector": excluding + ",k1"}, {"labelSelector": among}, {"fieldSelector": names})
        ]

    assert found == [1, 0, 1]


@pytest.mark.parametrize("selector", ["a" * 300, "a." * 200, "a" * 300 + "/b", "a-" * 200 + "_/x=1", "(" * 300])
async def test_selectors_that_are_none(api: Api, selector: str):
    await api.get(MAPS, query={"labelSelector": selector})


@pytest.mark.parametrize("query", ["x=%zz", "labelSelector=%zz", "x;y", "labelSelector=none;x", "labelSelector=no%6ee"])
async def test_a_query_that_is_malformed(api: Api, query: str):
    await api.post(MAPS, config_map())
    with api.unrecorded():
        answer = await api.get(f"{MAPS}?fieldSelector=metadata.name%3Da&{query}")

    assert answer.status == 200
    assert len(answer.body["items"]) == (0 if query.endswith("%6ee") else 1)


@pytest.mark.parametrize(("count", "found"), [(9_998, 0), (10_001, 1)])
async def test_a_query_of_many_parameters(api: Api, count: int, found: int):
    await api.post(MAPS, config_map())
    query = "&".join(f"p{number}=1" for number in range(count))
    with api.unrecorded():
        answer = await api.get(f"{MAPS}?labelSelector=none&{query}")

    assert min(1, len(answer.body["items"])) == found


@pytest.mark.parametrize(
    "name", ["a%2Fb", "a%20b", "a%00b", "%C3%BC", "a/status/x", "a" * 1000], ids=lambda name: name[:20]
)
async def test_names_in_addresses(api: Api, name: str):
    await api.get(f"{MAPS}/{name}")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
@pytest.mark.parametrize("path", ["/api", "/api/v1", "/version", "/apis/apps/v1"])
async def test_methods_that_discovery_does_not_take(api: Api, method: str, path: str):
    await api.call(method, path)


AGENTS = ["x" * 300 + "/1", "a\tb c/1", "ü" * 100, "kubectl/v1.36 (linux/amd64)", "/1", "a\u200bb"]


@pytest.mark.parametrize("agent", AGENTS, ids=[quote(agent)[:20] for agent in AGENTS])
async def test_managers_are_named_after_user_agents(api: Api, agent: str):
    await api.post(MAPS, config_map(k="v"), query={"dryRun": "All"}, headers={"User-Agent": agent})


@pytest.mark.parametrize("manager", ["x" * 128, "x" * 129, "ü" * 64, "ü" * 65, "a\tb"])
async def test_managers_that_are_too_long(api: Api, manager: str):
    await api.post(MAPS, config_map(k="v"), query={"dryRun": "All", "fieldManager": manager})


BODIES = [
    b"{",
    b"[]",
    b'"x"',
    b"nonsense",
    b'{"kind":"X"}',
    b'{"kind":"X","apiVersion":"v1"}',
    b'{"gracePeriodSeconds":"x"}',
    b'{"gracePeriodSeconds":1e400}',
    b'{"preconditions":5}',
    b'{"dryRun":"All"}',
    b"\xff",
]


@pytest.mark.parametrize("body", BODIES, ids=[repr(body)[:30] for body in BODIES])
async def test_bodies_of_deletes_that_are_none(api: Api, body: bytes):
    await api.post(MAPS, config_map())
    await api.delete(MAPS + "/a", body, query={"dryRun": "All"})
    await api.delete(MAPS, body, query={"dryRun": "All", "labelSelector": "none"})


async def test_a_yaml_body_of_a_delete_that_is_none(api: Api):
    await api.delete(MAPS + "/a", b"a: [", content_type=YAML)
