from __future__ import annotations

import textwrap
from base64 import b64encode
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright.config.certificate import certificates_in, expiry_of
from tests.config.certificates import issue, make_ca


@pytest.mark.parametrize(
    "not_after",
    [
        datetime(2049, 12, 31, 23, 59, 59, tzinfo=UTC),
        datetime(2050, 1, 1, 0, 0, 0, tzinfo=UTC),
        datetime(1999, 5, 6, 7, 8, 9, tzinfo=UTC),
        datetime(1968, 5, 6, 7, 8, 9, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC),
    ],
)
def test_expiry_is_the_one_in_the_certificate_in_either_time_format(not_after):
    pair = issue(make_ca(), "client", not_after=not_after)

    assert expiry_of(pair.cert) == not_after


def test_expiry_is_that_of_the_first_certificate_of_a_chain():
    ca = make_ca()
    pair = issue(ca, "client", not_after=datetime(2031, 2, 3, tzinfo=UTC))

    assert expiry_of(b"# a comment \xff\n" + pair.cert + ca.cert) == datetime(2031, 2, 3, tzinfo=UTC)


def test_certificates_are_found_between_keys_and_comments():
    ca = make_ca()
    pair = issue(ca, "client")

    found = certificates_in(b"comment \xc3\xa9\n" + pair.key + pair.cert + b"text\n" + ca.cert)

    assert [text.encode() for text in found] == [pair.cert.strip(), ca.cert.strip()]


@pytest.mark.parametrize("pem", [b"", b"garbage", make_ca().key], ids=["empty", "garbage", "key"])
def test_expiry_is_none_without_a_certificate(pem):
    assert expiry_of(pem) is None


@given(st.binary(max_size=60))
@settings(derandomize=True, max_examples=200)
def test_expiry_is_none_for_whatever_bytes_are_no_certificate(der):
    body = textwrap.fill(b64encode(der).decode(), 64)
    pem = f"-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n".encode()

    assert expiry_of(pem) is None


def test_expiry_is_none_wherever_the_certificate_is_cut_short():
    whole = issue(make_ca(), "client").cert.decode().split("\n")

    for kept in range(1, 4):
        cut = "\n".join([whole[0], *whole[1 : 1 + kept], whole[-2]])
        assert expiry_of(cut.encode()) is None
