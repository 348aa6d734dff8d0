"""The command line: what kube-apiserver takes and says, and what the server adds."""

from datetime import timedelta
from pathlib import Path

import pytest

from kubewright_apiserver.data import flags as known_flags
from kubewright_apiserver.golang import go_duration
from kubewright_apiserver.process.command_line import UsageError, integer_of, items_of, pairs_of
from kubewright_apiserver.process.flags import Flags, help_text

GUIDE = Path(__file__).parent.parent.parent / "docs/guide"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--event-ttl=2h"],
        ["--event-ttl", "2h"],
        ["--event_ttl=2h"],
        ["--event-ttl=5h", "--event-ttl=2h"],
        ["--anonymous-auth", "--event-ttl=2h"],
        ["-v2", "--event-ttl=2h", ""],
    ],
)
def test_a_flag_is_read_in_each_of_its_forms(arguments):
    assert Flags(arguments).text("event-ttl") == "2h"


@pytest.mark.parametrize("arguments", [["-v2"], ["-v=2"], ["-v", "2"], ["--v=2"], ["--v", "2"]])
def test_verbosity_has_a_short_name(arguments):
    assert Flags(arguments).text("v") == "2"


def test_true_needs_no_value_and_takes_none_after_a_space():
    assert Flags(["--anonymous-auth"]).is_on("anonymous-auth")
    assert not Flags(["--anonymous-auth=F"]).is_on("anonymous-auth", default=True)
    with pytest.raises(UsageError, match="does not take any arguments"):
        Flags(["--anonymous-auth", "false"])


# What kube-apiserver 1.36.3 says after "Error: ".
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--nope"], "unknown flag: --nope"),
        (["--nope=1"], "unknown flag: --nope"),
        (["--insecure-port=0"], "unknown flag: --insecure-port"),
        (["-x"], "unknown shorthand flag: 'x' in -x"),
        (["-hx"], "unknown shorthand flag: 'x' in -x"),
        (["foo"], '"kube-apiserver" does not take any arguments, got ["foo"]'),
        (["-"], '"kube-apiserver" does not take any arguments, got ["-"]'),
        (["--", "foo", "bar"], '"kube-apiserver" does not take any arguments, got ["foo" "bar"]'),
        (["--etcd-servers"], "flag needs an argument: --etcd-servers"),
        (["-v"], "flag needs an argument: 'v' in -v"),
        (["--=x"], "bad flag syntax: --=x"),
        (["---x"], "bad flag syntax: ---x"),
        (
            ["--secure-port=abc"],
            'invalid argument "abc" for "--secure-port" flag: strconv.ParseInt: parsing "abc": invalid syntax',
        ),
        (
            ["--secure_port=abc"],
            'invalid argument "abc" for "--secure-port" flag: strconv.ParseInt: parsing "abc": invalid syntax',
        ),
        (
            ["--secure-port=99999999999999999999"],
            'invalid argument "99999999999999999999" for "--secure-port" flag: '
            'strconv.ParseInt: parsing "99999999999999999999": value out of range',
        ),
        (
            ["--anonymous-auth=maybe"],
            'invalid argument "maybe" for "--anonymous-auth" flag: strconv.ParseBool: parsing "maybe": invalid syntax',
        ),
        (
            ["--watch-cache="],
            'invalid argument "" for "--watch-cache" flag: strconv.ParseBool: parsing "": invalid syntax',
        ),
        (["--bind-address=foo"], 'invalid argument "foo" for "--bind-address" flag: failed to parse IP: "foo"'),
        (["--event-ttl=5"], 'invalid argument "5" for "--event-ttl" flag: time: missing unit in duration "5"'),
        (
            ["--event-ttl", "5x"],
            'invalid argument "5x" for "--event-ttl" flag: time: unknown unit "x" in duration "5x"',
        ),
        (
            ["--goaway-chance=x"],
            'invalid argument "x" for "--goaway-chance" flag: strconv.ParseFloat: parsing "x": invalid syntax',
        ),
        (
            ["--kubelet-port=-1"],
            'invalid argument "-1" for "--kubelet-port" flag: strconv.ParseUint: parsing "-1": invalid syntax',
        ),
        (["-vx"], 'invalid argument "x" for "-v, --v" flag: strconv.ParseUint: parsing "x": invalid syntax'),
        (
            ["--help=maybe"],
            'invalid argument "maybe" for "-h, --help" flag: strconv.ParseBool: parsing "maybe": invalid syntax',
        ),
        (
            ["--version=foo"],
            'invalid argument "foo" for "--version" flag: strconv.ParseBool: parsing "foo": invalid syntax',
        ),
    ],
)
def test_what_is_wrong_is_said_in_kube_apiservers_words(arguments, message):
    with pytest.raises(UsageError) as caught:
        Flags(arguments)

    assert str(caught.value) == message


def test_every_flag_of_kube_apiserver_is_taken():
    values = {"bool": "true", "int": "1", "uint": "1", "Level": "1", "duration": "1s", "ip": "127.0.0.1"}
    for name, flag in known_flags().items():
        value = "true" if flag["type"].startswith("version") else values.get(flag["type"], "1")

        assert Flags([f"--{name}={value}"]).all(name) == [value]


def test_flags_without_effect_are_told():
    flags = Flags(["--secure-port=0", "--profiling", "--etcd-prefix=/x", "--profiling=true", "--data=/x"])

    assert flags.ignored == ["etcd-prefix", "profiling"]


def test_nothing_is_told_of_a_flag_that_says_what_is_so_already():
    assert Flags(["--allow-privileged=true", "--watch-cache", "--endpoint-reconciler-type=none"]).ignored == []
    assert Flags(["--allow-privileged=false"]).ignored == ["allow-privileged"]


def test_deprecated_flags_are_told_as_kube_apiserver_does():
    why = "apiserver-count is deprecated and will be removed in a future version."

    assert Flags(["--apiserver-count=1"]).deprecations == [f"Flag --apiserver-count has been deprecated, {why}"]


def test_lists_may_come_in_parts():
    assert items_of(["a,b", "c", '"d,e",f']) == ["a", "b", "c", "d,e", "f"]


def test_maps_may_come_in_parts():
    assert pairs_of(["api/all=false,apps/v1=true", "v1", "x/v1=a=b"]) == {
        "api/all": "false",
        "apps/v1": "true",
        "v1": "",
        "x/v1": "a=b",
    }


@pytest.mark.parametrize(
    ("text", "value"), [("12", 12), ("0x1F", 31), ("017", 15), ("0b11", 3), ("0o17", 15), ("-5", -5), ("0", 0)]
)
def test_integers_may_be_written_in_other_bases(text, value):
    assert integer_of(text) == value


@pytest.mark.parametrize(
    ("text", "seconds"), [("1h30m", 5400), ("1.5s", 1.5), ("0", 0), ("-2m", -120), ("+3ms", 0.003), ("1h0m0s", 3600)]
)
def test_durations_are_read_as_go_reads_them(text, seconds):
    assert go_duration(text) == timedelta(seconds=seconds)


def test_help_names_every_flag():
    text = help_text()

    for name in (*known_flags(), "data", "write-kubeconfig", "write-assets", "exit-with-stdin", "manifests"):
        assert f"--{name}" in [word.rstrip(",") for word in text.split()]
    assert max(map(len, text.splitlines())) <= 120


def test_the_guide_tells_of_every_flag_that_has_an_effect():
    guide = "".join((GUIDE / page).read_text() for page in ("process.md", "apiserver.md"))
    effective = help_text().partition("Flags of kube-apiserver that it accepts")[0]
    names = [line.split()[0] for line in effective.splitlines() if line.startswith("      --")]

    assert [name for name in names if f"`{name}" not in guide] == []
    assert {"--data", "--secure-port", "--write-kubeconfig"} <= set(names)
