"""Selectors select what the real server selects, and are refused in its words; every expectation was read from it."""

from dataclasses import dataclass
from typing import Any

import pytest

from kubewright_apiserver.selectors import field_terms, requires_single_name, selectable_fields, selection_of
from kubewright_apiserver.status import Refusal

UNABLE = "unable to parse requirement: "
NAME_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
    " (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is"
    " '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and"
    " end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is"
    " '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
PREFIX_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and"
    " end with an alphanumeric character (e.g. 'example.com', regex used for validation is"
    " '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


@dataclass
class Resource:
    group: str = ""
    version: str = "v1"
    plural: str = "configmaps"
    kind: str = "ConfigMap"
    namespaced: bool = True
    crd: dict[str, Any] | None = None


PLAIN: dict[str, Any] = {"metadata": {"name": "a", "namespace": "default"}}
LABELLED: dict[str, Any] = {"metadata": {"name": "jp", "namespace": "default", "labels": {"a": "1", "b": "2"}}}


def selected(**selectors: str) -> list[str]:
    selection = selection_of(Resource(), **selectors)
    return [obj["metadata"]["name"] for obj in (PLAIN, LABELLED) if selection.matches(obj)]


SELECTED_BY_LABELS = [
    ("a=1", ["jp"]),
    ("a==1", ["jp"]),
    ("a!=1", ["a"]),
    ("a", ["jp"]),
    ("!a", ["a"]),
    ("a in (1,2)", ["jp"]),
    ("a notin (1)", ["a"]),
    ("a>0", ["jp"]),
    ("a<5", ["jp"]),
    ("a=", []),
    ("a==", []),
    ("a!=", ["a", "jp"]),
    ("a in ()", []),
    ("a in (,)", []),
    ("a in (1,)", ["jp"]),
    ("in", []),
    ("notin", []),
    ("in in (in)", []),
    ("in=1", []),
    ("a=1 , b=2", ["jp"]),
    ("a=,b", []),
    ("a=1,b in (2),!c", ["jp"]),
    ("  a  =  1  ", ["jp"]),
    ("a in(1)", ["jp"]),
    ("a=in", []),
    ("a=notin", []),
    ("a in (in,notin)", []),
    ("!a,!b", ["a"]),
    ("a\n=1", ["jp"]),
    ("a in (1,,2)", ["jp"]),
]

BAD_LABEL_SELECTORS = [
    ("a gt 0", UNABLE + "found 'gt', expected: in, notin, =, ==, !=, gt, lt"),
    ("a,,b", "found ',', expected: identifier after ','"),
    (",a", "found ',', expected: !, identifier, or 'end of string'"),
    ("a,", "found '', expected: identifier after ','"),
    ("=1", "found '=', expected: !, identifier, or 'end of string'"),
    ("a=b=c", "found '=', expected: ',' or 'end of string'"),
    ("a in 1", UNABLE + "found '1' expected: '('"),
    ("a in (1", UNABLE + "found '', expected: ',' or ')'"),
    ("a (1)", UNABLE + "found '(', expected: in, notin, =, ==, !=, gt, lt"),
    ("a b", UNABLE + "found 'b', expected: in, notin, =, ==, !=, gt, lt"),
    ("!", UNABLE + "found '', expected: identifier"),
    ("!!a", UNABLE + "found '!', expected: identifier"),
    ("!a=1", "found '=', expected: ',' or 'end of string'"),
    ("!a in (1)", "found 'in', expected: ',' or 'end of string'"),
    ("a=b!", "found '!', expected: ',' or 'end of string'"),
    ("a=(", UNABLE + "found '(', expected: identifier"),
    ("()", "found '(', expected: !, identifier, or 'end of string'"),
    (">", "found '>', expected: !, identifier, or 'end of string'"),
    ("a>b", UNABLE + "values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value must be an integer"),
    ("a>=1", UNABLE + "found '=', expected: identifier"),
    ("a=>1", UNABLE + "found '>', expected: identifier"),
    (
        "a/b/c=1",
        UNABLE
        + '<nil>: Invalid value: "a/b/c": a valid label key '
        + NAME_RULE
        + " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
    ),
    ("A/b=1", UNABLE + '<nil>: Invalid value: "A/b": prefix part ' + PREFIX_RULE),
    ("-a=1", UNABLE + '<nil>: Invalid value: "-a": name part ' + NAME_RULE),
    ("a=-", UNABLE + 'values[0][a]: Invalid value: "-": ' + VALUE_RULE),
    ("a=b c", "found 'c', expected: ',' or 'end of string'"),
    ("a=" + "x" * 64, UNABLE + 'values[0][a]: Invalid value: "' + "x" * 64 + '": must be no more than 63 bytes'),
    ("x" * 64, UNABLE + '<nil>: Invalid value: "' + "x" * 64 + '": name part must be no more than 63 bytes'),
    (
        "ex.com/" + "y" * 64 + "=1",
        UNABLE + '<nil>: Invalid value: "ex.com/' + "y" * 64 + '": name part must be no more than 63 bytes',
    ),
    ("a in (-b,c)", UNABLE + 'values[0][a]: Invalid value: "-b": ' + VALUE_RULE),
    ("a=é", UNABLE + 'values[0][a]: Invalid value: "é": ' + VALUE_RULE),
    ("é=1", UNABLE + '<nil>: Invalid value: "é": name part ' + NAME_RULE),
    ("a ! b", UNABLE + "found '!', expected: in, notin, =, ==, !=, gt, lt"),
    ("a=1;b=2", UNABLE + 'values[0][a]: Invalid value: "1;b": ' + VALUE_RULE),
    ("a in (1 2)", UNABLE + "found '2', expected: ',' or ')'"),
    ("a in (1,=)", UNABLE + "found '=', expected: ',', or identifier"),
    ("a in )", UNABLE + "found ')' expected: '('"),
    ("a notin", UNABLE + "found '' expected: '('"),
    ("a in", UNABLE + "found '' expected: '('"),
    ("a>,b", UNABLE + "values[0]: Invalid value: \"\": for 'Gt', 'Lt' operators, the value must be an integer"),
    ("%", UNABLE + '<nil>: Invalid value: "%": name part ' + NAME_RULE),
    ("a=%", UNABLE + 'values[0][a]: Invalid value: "%": ' + VALUE_RULE),
    ("a>5,a<", UNABLE + "values[0]: Invalid value: \"\": for 'Gt', 'Lt' operators, the value must be an integer"),
    ("a=!", UNABLE + "found '!', expected: identifier"),
    ("a=1)", "found ')', expected: ',' or 'end of string'"),
    ("(a=1)", "found '(', expected: !, identifier, or 'end of string'"),
    ("a<>1", UNABLE + "found '>', expected: identifier"),
    ("a=<1", UNABLE + "found '<', expected: identifier"),
    ("a==!1", UNABLE + "found '!', expected: identifier"),
    ("a!b", UNABLE + "found '!', expected: in, notin, =, ==, !=, gt, lt"),
    ("a in (,1", UNABLE + "found '', expected: ',' or ')'"),
    ("a=1,", "found '', expected: identifier after ','"),
    ("a>1.5", UNABLE + "values[0]: Invalid value: \"1.5\": for 'Gt', 'Lt' operators, the value must be an integer"),
    (
        "a<99999999999999999999",
        UNABLE
        + "values[0]: Invalid value: \"99999999999999999999\": for 'Gt', 'Lt' operators, the value must be an integer",
    ),
    ("a= b =c", "found '=', expected: ',' or 'end of string'"),
    ("/a=1", UNABLE + '<nil>: Invalid value: "/a": prefix part must be non-empty'),
    ("a/=1", UNABLE + '<nil>: Invalid value: "a/": name part must be non-empty; name part ' + NAME_RULE),
    (
        "-a/" + "y" * 64 + "!=1",
        UNABLE
        + '<nil>: Invalid value: "-a/'
        + "y" * 64
        + '": prefix part '
        + PREFIX_RULE
        + "; name part must be no more than 63 bytes",
    ),
    (
        "x" * 254 + "/b=1",
        UNABLE + '<nil>: Invalid value: "' + "x" * 254 + '/b": prefix part must be no more than 253 bytes',
    ),
]

SELECTED_BY_FIELDS = [
    ("metadata.name=jp", ["jp"]),
    ("metadata.name==jp", ["jp"]),
    ("metadata.name!=jp", ["a"]),
    ("metadata.namespace=default", ["a", "jp"]),
    ("metadata.namespace=x", []),
    ("metadata.name=a,metadata.name=jp", []),
    ("metadata.name=a\\,b", []),
    ("metadata.name=a\\=b", []),
    ("metadata.name=a,", ["a"]),
    ("metadata.name=", []),
    ("metadata.name!=", ["a", "jp"]),
    (",", ["a", "jp"]),
    ("metadata.name=jp ", []),
]

BAD_FIELD_SELECTORS = [
    ("metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
    ("=x", '"" is not a known field selector: only "metadata.name", "metadata.namespace"'),
    ("metadata.name=a\\b", "invalid field selector: invalid escape sequence: \\b"),
    ("metadata.name=a\\", "invalid field selector: invalid escape sequence: \\"),
    ("metadata.name=a=b", "invalid field selector: unescaped character in value: 61"),
    ("spec.x=1", '"spec.x" is not a known field selector: only "metadata.name", "metadata.namespace"'),
    ("spec.x!=1", '"spec.x" is not a known field selector: only "metadata.name", "metadata.namespace"'),
    (
        "metadata.labels=1",
        '"metadata.labels" is not a known field selector: only "metadata.name", "metadata.namespace"',
    ),
    (" metadata.name=jp", '" metadata.name" is not a known field selector: only "metadata.name", "metadata.namespace"'),
    ("metadata.name in (a)", "invalid selector: 'metadata.name in (a)'; can't understand 'metadata.name in (a)'"),
    ("metadata.name>a", "invalid selector: 'metadata.name>a'; can't understand 'metadata.name>a'"),
    ("name=jp", '"name" is not a known field selector: only "metadata.name", "metadata.namespace"'),
    ("a,b", "invalid selector: 'a,b'; can't understand 'a'"),
    ("metadata.name=a,spec.x=1", '"spec.x" is not a known field selector: only "metadata.name", "metadata.namespace"'),
    ("spec.x=1,aaa=2", '"aaa" is not a known field selector: only "metadata.name", "metadata.namespace"'),
]


@pytest.mark.parametrize(("selector", "names"), SELECTED_BY_LABELS)
def test_a_label_selector_selects_what_the_real_server_selects(selector, names):
    assert selected(labels=selector) == names


@pytest.mark.parametrize(("selector", "message"), BAD_LABEL_SELECTORS)
def test_a_bad_label_selector_is_refused_in_the_real_servers_words(selector, message):
    with pytest.raises(Refusal) as refused:
        selection_of(Resource(), labels=selector)

    assert (refused.value.code, refused.value.reason, refused.value.message) == (400, "BadRequest", message)


@pytest.mark.parametrize(("selector", "names"), SELECTED_BY_FIELDS)
def test_a_field_selector_selects_what_the_real_server_selects(selector, names):
    assert selected(fields=selector) == names


@pytest.mark.parametrize(("selector", "message"), BAD_FIELD_SELECTORS)
def test_a_bad_field_selector_is_refused_in_the_real_servers_words(selector, message):
    with pytest.raises(Refusal) as refused:
        selection_of(Resource(), fields=selector)

    assert (refused.value.code, refused.value.reason, refused.value.message) == (400, "BadRequest", message)


def test_a_label_that_is_no_number_is_neither_greater_nor_less():
    greater, less = (selection_of(Resource(), labels=f"a{operator}0") for operator in "><")
    worded = {"metadata": {"name": "x", "labels": {"a": "one"}}}

    assert not greater.matches(worded)
    assert not less.matches(worded)


def test_labels_and_fields_must_both_match():
    assert selected(labels="a=1", fields="metadata.name=a") == []
    assert selected(labels="a=1", fields="metadata.name=jp") == ["jp"]


def test_an_escaped_comma_is_part_of_the_value():
    (term,) = field_terms(r"metadata.name=a\,b\=c\\")

    assert term.value == "a,b=c\\"


def test_no_selector_selects_everything():
    assert selection_of(Resource()).is_everything
    assert selection_of(Resource(), fields=",").is_everything
    assert not selection_of(Resource(), labels="a").is_everything


def test_a_selection_by_name_tells_the_name():
    assert requires_single_name(field_terms("metadata.name=x,metadata.namespace=y")) == "x"
    assert requires_single_name(field_terms("metadata.name!=x")) is None
    assert selection_of(Resource(), fields="metadata.name=x").name == "x"


def test_a_name_in_the_path_selects_that_object():
    selection = selection_of(Resource(), name="jp")

    assert [selection.matches(obj) for obj in (PLAIN, LABELLED)] == [False, True]


def test_a_name_in_the_path_must_be_that_of_the_field_selector():
    with pytest.raises(Refusal, match=r"fieldSelector metadata.name doesn't match requested name"):
        selection_of(Resource(), name="jp", fields="metadata.name=x")


POD = Resource(plural="pods", kind="Pod")
UNKNOWN_FIELDS = [
    (POD, "spec.x", "field label not supported: spec.x"),
    (Resource(plural="nodes"), "metadata.namespace", "field label not supported: metadata.namespace"),
    (Resource(plural="namespaces"), "name", "field label not supported: name"),
    (Resource(plural="secrets"), "x", "field label not supported: x"),
    (Resource(plural="services"), "x", "field label not supported: x"),
    (Resource(plural="events"), "x", "field label not supported: x"),
    (Resource(plural="replicationcontrollers"), "x", "field label not supported: x"),
    (
        Resource("events.k8s.io", plural="events"),
        "involvedObject.name",
        "field label not supported: involvedObject.name",
    ),
    (Resource("batch", plural="jobs"), "x", 'field label "x" not supported for Job'),
    (
        Resource("resource.k8s.io", plural="resourceslices", kind="ResourceSlice"),
        "x",
        "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: x",
    ),
    (
        Resource("batch", plural="cronjobs"),
        "x",
        '"x" is not a known field selector: only "metadata.name", "metadata.namespace"',
    ),
    (
        Resource(plural="persistentvolumes"),
        "name",
        '"name" is not a known field selector: only "metadata.name", "metadata.namespace"',
    ),
]


@pytest.mark.parametrize(("resource", "field", "message"), UNKNOWN_FIELDS)
def test_a_field_that_a_built_in_kind_does_not_select_by_is_refused_in_its_kinds_words(resource, field, message):
    with pytest.raises(Refusal) as refused:
        selection_of(resource, fields=f"{field}=1")

    assert refused.value.message == message


def test_a_pod_is_selected_by_its_fields():
    pod = {
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {"nodeName": "n", "schedulerName": "s", "hostNetwork": True},
        "status": {"phase": "Running", "podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]},
    }

    assert selectable_fields("", "pods", pod) == {
        "metadata.name": "p",
        "metadata.namespace": "default",
        "spec.nodeName": "n",
        "spec.host": "n",
        "spec.restartPolicy": "",
        "spec.schedulerName": "s",
        "spec.serviceAccountName": "",
        "spec.hostNetwork": "true",
        "status.phase": "Running",
        "status.podIP": "10.0.0.1",
        "status.podIPs": "",
        "status.nominatedNodeName": "",
    }


@pytest.mark.parametrize(
    ("group", "plural", "field", "value"),
    [
        ("", "nodes", "spec.unschedulable", "false"),
        ("", "pods", "spec.hostNetwork", "false"),
        ("", "replicationcontrollers", "status.replicas", "0"),
        ("batch", "jobs", "status.successful", "0"),
    ],
)
def test_an_absent_flag_or_number_is_compared_as_gos_zero(group, plural, field, value):
    assert selectable_fields(group, plural, PLAIN)[field] == value


def test_an_event_is_selected_by_the_names_of_both_groups():
    event = {"metadata": {"name": "e"}, "involvedObject": {"kind": "Pod"}, "reportingComponent": "kubelet"}

    assert selectable_fields("", "events", event)["involvedObject.kind"] == "Pod"
    assert selectable_fields("events.k8s.io", "events", event)["regarding.kind"] == "Pod"
    assert selectable_fields("events.k8s.io", "events", event)["reportingController"] == "kubelet"
    assert selectable_fields("", "events", event)["source"] == "kubelet"


WIDGETS = {
    "spec": {
        "versions": [
            {"name": "v1", "selectableFields": [{"jsonPath": ".spec.n"}, {"jsonPath": ".spec.flag"}]},
            {"name": "v2"},
        ]
    }
}


def test_a_custom_resource_is_selected_by_its_selectable_fields():
    resource = Resource("x.io", plural="widgets", kind="Widget", crd=WIDGETS)
    widget = {"metadata": {"name": "w"}, "spec": {"n": 3, "flag": True}}

    assert selection_of(resource, fields="spec.n=3,spec.flag=true").matches(widget)
    assert selection_of(resource, fields="spec.n=").matches(PLAIN)
    assert not selection_of(resource, fields="spec.flag=false").matches(PLAIN)


def test_a_custom_resources_selectable_fields_are_those_of_the_version():
    resource = Resource("x.io", "v2", "widgets", "Widget", crd=WIDGETS)

    with pytest.raises(Refusal, match=r"field label not supported: spec.n"):
        selection_of(resource, fields="spec.n=3")


def test_a_cluster_scoped_custom_resource_is_not_selected_by_namespace():
    resource = Resource("x.io", "v1", "widgets", "Widget", namespaced=False, crd=WIDGETS)

    with pytest.raises(Refusal, match=r"field label not supported: metadata.namespace"):
        selection_of(resource, fields="metadata.namespace=x")
