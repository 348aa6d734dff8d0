from __future__ import annotations

import logging

import pytest

from kubewright.config.credentials import Anonymous, BearerToken, Password, TokenFile
from kubewright.errors import CredentialError


class Clock:
    def __init__(self) -> None:
        self.time = 1000.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "token"
    path.write_text("first\n")
    return path


async def test_anonymous_sends_nothing():
    nobody = Anonymous()

    assert await nobody.headers() == {}
    assert nobody.client_certificate() is None
    assert not nobody.renewable


async def test_bearer_token_is_sent_without_the_blanks_around_it():
    assert await BearerToken(" abc\n").headers() == {"Authorization": "Bearer abc"}


async def test_password_is_sent_as_basic_authentication_in_utf8():
    assert await Password("alice", "pä:ss").headers() == {"Authorization": "Basic YWxpY2U6cMOkOnNz"}


@pytest.mark.parametrize("token", ["", "two words", "two\r\nHost: evil", "täg", "nul\0"])
def test_bearer_token_is_refused_without_showing_it_when_no_header_can_carry_it(token):
    with pytest.raises(CredentialError, match="the token of users") as caught:
        BearerToken(token, source="users[a].user")

    assert not token or token not in str(caught.value)


async def test_token_file_is_read_again_after_a_minute_and_not_before(file):
    clock = Clock()
    credentials = TokenFile(file, clock=clock)
    await credentials.headers()
    file.write_text("second")

    clock.time += 59.9
    before = await credentials.headers()
    clock.time += 0.2
    after = await credentials.headers()

    assert before == {"Authorization": "Bearer first"}
    assert after == {"Authorization": "Bearer second"}


async def test_token_file_is_read_again_at_once_after_a_refusal(file):
    credentials = TokenFile(file, clock=Clock())
    await credentials.headers()
    file.write_text("second")

    credentials.invalidate()

    assert credentials.renewable
    assert await credentials.headers() == {"Authorization": "Bearer second"}


async def test_token_file_is_not_read_again_when_another_token_was_refused(file):
    credentials = TokenFile(file, clock=Clock())
    await credentials.headers()
    file.write_text("second")

    credentials.invalidate({"Authorization": "Bearer an older one", "Accept": "application/json"})
    kept = await credentials.headers()
    credentials.invalidate({"Authorization": "Bearer first", "Accept": "application/json"})
    renewed = await credentials.headers()

    assert kept == {"Authorization": "Bearer first"}
    assert renewed == {"Authorization": "Bearer second"}


async def test_headers_are_the_callers_own(file):
    for credentials in (TokenFile(file), BearerToken("first")):
        (await credentials.headers()).clear()

        assert await credentials.headers() == {"Authorization": "Bearer first"}


@pytest.mark.parametrize("content", [b"", b" \n", b"\xff\xfe broken", None])
async def test_token_read_before_stays_in_use_with_a_warning_when_the_file_is_spoilt(file, content, caplog):
    clock = Clock()
    credentials = TokenFile(file, clock=clock)
    await credentials.headers()
    file.unlink()
    if content is not None:
        file.write_bytes(content)

    clock.time += 61
    with caplog.at_level(logging.WARNING):
        headers = await credentials.headers()

    assert headers == {"Authorization": "Bearer first"}
    assert str(file) in caplog.text


async def test_spoilt_token_file_is_an_error_once_the_token_before_was_refused(file):
    credentials = TokenFile(file, clock=Clock())
    await credentials.headers()
    file.write_text("")

    credentials.invalidate()

    with pytest.raises(CredentialError, match=rf"{file} is empty"):
        await credentials.headers()


async def test_missing_token_file_is_an_error_that_names_it(tmp_path):
    with pytest.raises(CredentialError, match=r"cannot read the token file .*absent: No such file"):
        await TokenFile(tmp_path / "absent").headers()


async def test_fallback_token_is_used_only_while_the_file_is_missing(tmp_path):
    clock = Clock()
    path = tmp_path / "token"
    credentials = TokenFile(path, fallback="static", clock=clock)

    before = await credentials.headers()
    path.write_text("from-file")
    clock.time += 61
    after = await credentials.headers()

    assert before == {"Authorization": "Bearer static"}
    assert after == {"Authorization": "Bearer from-file"}
