"""Values in messages, as Go prints them: in Go's names, nothing left out."""

from __future__ import annotations

from kubewright_apiserver.schema.goprint import compact, difference, printed


def test_value_is_printed_with_every_field_of_the_internal_type():
    text = printed("core.Toleration", {"key": "a", "operator": "Exists"})

    assert text == '{"Key":"a","Operator":"Exists","Value":"","Effect":"","TolerationSeconds":null}'


def test_pointer_to_nothing_is_printed_as_null():
    assert printed("*core.ScopeSelector", None) == "null"


def test_letters_that_matter_to_html_are_escaped():
    assert compact({"a": "<&>"}) == '{"a":"\\u003c\\u0026\\u003e"}'


def test_difference_shows_changed_lines_among_three_others():
    old = {"key": "a", "operator": "Exists", "effect": "NoSchedule"}

    text = difference("core.Toleration", old, old | {"effect": "NoExecute"})

    assert text == (
        "@@ -2,6 +2,6 @@\n"
        '  "Key": "a",\n'
        '  "Operator": "Exists",\n'
        '  "Value": "",\n'
        '- "Effect": "NoSchedule",\n'
        '+ "Effect": "NoExecute",\n'
        '  "TolerationSeconds": null\n'
        " }\n"
    )


def test_pod_keeps_what_is_of_the_host_in_its_security_context():
    text = printed("core.PodSpec", {"hostNetwork": True, "containers": []})

    assert '"HostNetwork":true' in text.partition('"SecurityContext":{')[2].partition("}")[0]
