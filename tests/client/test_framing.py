"""Answers of HTTP/1.1, byte by byte."""

from __future__ import annotations

import gzip
import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright.client.framing import body_of, parse_head
from kubewright.errors import ProtocolError

OK = b"HTTP/1.1 200 OK\r\n"


def chunked(data: bytes, sizes: list[int]) -> bytes:
    framed, at = b"", 0
    for size in [*sizes, len(data)]:
        if piece := data[at : at + size]:
            framed += b"%x;note=1\r\n%s\r\n" % (len(piece), piece)
        at += size
    return framed + b"0\r\nTrailer: x\r\n\r\n"


def read(head: bytes, pieces: list[bytes]) -> tuple[bytes, bool, bool]:
    body = body_of(parse_head(head))
    data = b"".join(body.feed(piece) for piece in pieces)
    return data, body.is_whole, body.surplus


def cut(data: bytes, places: list[int]) -> list[bytes]:
    marks = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[begin:end] for begin, end in itertools.pairwise(marks)]


def test_a_head_tells_status_and_headers_in_small_letters():
    head = parse_head(OK + b"Content-Type: application/json\r\nX-Empty:\r\nContent-Length:  7 ")

    assert head.status == 200
    assert head.headers == [("content-type", "application/json"), ("x-empty", ""), ("content-length", "7")]
    assert (head.length, head.is_chunked, head.stays_open) == (7, False, True)


@pytest.mark.parametrize(
    ("head", "stays_open"),
    [
        (b"HTTP/1.1 200 OK\r\nConnection: close", False),
        (b"HTTP/1.1 200 OK\r\nConnection: Keep-Alive", True),
        (b"HTTP/1.0 200 OK", False),
        (b"HTTP/1.0 200 OK\r\nConnection: keep-alive", True),
    ],
)
def test_a_head_tells_whether_the_connection_stays_open(head: bytes, stays_open: bool):
    assert parse_head(head).stays_open is stays_open


@pytest.mark.parametrize(
    "head",
    [
        b"SSH-2.0-OpenSSH_9.2",
        b"HTTP/2 200 OK",
        b"HTTP/1.1 99 Low",
        b"HTTP/1.1 2000 OK",
        OK + b"no colon",
        OK + b"Bad Name: x",
        OK + b": x",
        OK + b" folded: x",
        OK + b"Content-Length: -1",
        OK + b"Content-Length: 1_0",
        OK + b"Content-Length: \xd9\xa1",
        OK + b"Content-Length: 1\r\nContent-Length: 2",
        OK + b"Transfer-Encoding: gzip, chunked",
        OK + b"Content-Encoding: br",
    ],
)
def test_a_head_that_is_not_https_own_is_refused(head: bytes):
    with pytest.raises(ProtocolError):
        parse_head(head)


def test_two_lengths_that_agree_are_one():
    assert parse_head(OK + b"Content-Length: 3\r\nContent-Length: 3").length == 3


@pytest.mark.parametrize("status", [204, 304])
def test_an_answer_without_a_body_is_whole_with_its_head(status: int):
    body = body_of(parse_head(b"HTTP/1.1 %d X\r\nContent-Length: 5" % status))

    assert body.is_whole


@settings(derandomize=True, max_examples=200)
@given(st.binary(max_size=200), st.lists(st.integers(1, 40), max_size=8), st.lists(st.integers(0, 1000), max_size=12))
def test_a_chunked_body_is_the_same_wherever_it_is_cut(data: bytes, sizes: list[int], places: list[int]):
    pieces = cut(chunked(data, sizes), places)

    assert read(OK + b"Transfer-Encoding: chunked", pieces) == (data, True, False)


@settings(derandomize=True, max_examples=50)
@given(st.binary(max_size=200), st.lists(st.integers(0, 1000), max_size=12))
def test_a_compressed_body_is_the_same_wherever_it_is_cut(data: bytes, places: list[int]):
    pieces = cut(chunked(gzip.compress(data), [7, 11]), places)

    assert read(OK + b"Transfer-Encoding: chunked\r\nContent-Encoding: gzip", pieces) == (data, True, False)


def test_bytes_after_a_body_are_told_and_do_not_belong_to_it():
    assert read(OK + b"Content-Length: 3", [b"abcdef"]) == (b"abc", True, True)
    assert read(OK + b"Transfer-Encoding: chunked", [b"1\r\na\r\n0\r\n\r\nHTTP/1.1 200"]) == (b"a", True, True)


@pytest.mark.parametrize(
    "framed", [b"\r\n", b"x\r\n", b"-1\r\n", b"0x1\r\na\r\n", b"1_0\r\n", b"1\r\nab\r\n", b"5" * 70_000]
)
def test_a_chunk_that_is_not_one_is_refused(framed: bytes):
    with pytest.raises(ProtocolError):
        read(OK + b"Transfer-Encoding: chunked", [framed])


def test_a_body_without_a_length_may_end_with_the_connection_only():
    body = body_of(parse_head(OK + b"Content-Type: text/plain"))

    assert body.feed(b"abc") == b"abc"
    assert (body.is_whole, body.may_end) == (False, True)
    assert not body_of(parse_head(OK + b"Content-Length: 3")).may_end


@pytest.mark.parametrize("framed", [b"5\r\nabcde\r\n0\r\n\r\n", b"4\r\n" + gzip.compress(b"a")[:4] + b"\r\n0\r\n\r\n"])
def test_a_compressed_body_that_is_damaged_or_short_is_refused(framed: bytes):
    with pytest.raises(ProtocolError, match="compress"):
        read(OK + b"Transfer-Encoding: chunked\r\nContent-Encoding: gzip", [framed])
