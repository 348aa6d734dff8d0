"""Credentials of the ``oidc`` auth-provider: an id-token, renewed by a refresh-token at its issuer."""

from __future__ import annotations

import json
import os
from base64 import b64encode, urlsafe_b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote_plus

from kubewright.config.credentials import bearer
from kubewright.config.proxy import proxy_for
from kubewright.config.renewal import Issued, Renewal, wall_clock
from kubewright.config.secret import Secretive, masked
from kubewright.config.tls import TlsConfig, TlsContext
from kubewright.errors import CredentialError

if TYPE_CHECKING:
    import aiohttp

__all__ = ["Oidc", "OidcClient"]

_TIME_LIMIT: Final = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcClient(Secretive):
    """Who we are to which OpenID Connect issuer, and how to trust that issuer."""

    issuer: str
    client_id: str
    client_secret: str = field(default="", repr=False)
    tls: TlsConfig = field(default_factory=TlsConfig)


class Oidc(Secretive):
    """An id-token, used until shortly before it expires and then renewed by the refresh-token.

    New tokens are kept in memory only: the kubeconfig is never written. With an issuer whose refresh-tokens work once,
    the one in the kubeconfig is therefore spent after the first renewal; use an exec plugin there.
    """

    def __init__(
        self,
        client: OidcClient,
        *,
        id_token: str = "",
        refresh_token: str = "",
        environ: Mapping[str, str] = os.environ,
        clock: Callable[[], datetime] = wall_clock,
    ) -> None:
        self._client = client
        self._refresh_token = refresh_token
        self._environ = environ
        self._clock = clock
        self._renewal = Renewal(self._obtain, clock=clock)
        if id_token and (expiry := _expiry_in(id_token)) is not None:
            self._renewal.issued = Issued.until(expiry, bearer(id_token, repr(self)), now=clock())

    def __repr__(self) -> str:
        return f"Oidc({self._client.issuer!r})"

    @property
    def renewable(self) -> bool:
        """Whether there is a refresh-token."""
        return bool(self._refresh_token)

    async def headers(self) -> dict[str, str]:
        """The id-token as an Authorization header."""
        return dict((await self._renewal.current()).headers)

    def invalidate(self, refused: Mapping[str, str] | None = None) -> None:
        """Refresh next time, unless the token was refreshed since the refused headers were sent."""
        self._renewal.forget(refused)

    def client_certificate(self) -> tuple[bytes, bytes] | None:
        """None."""
        return None

    async def _obtain(self) -> Issued:
        import aiohttp

        if not self._refresh_token:
            raise self._error("the id-token is missing, expired or refused, and there is no refresh-token")
        context = TlsContext(self._client.issuer, self._client.tls).context()
        connector = aiohttp.TCPConnector(ssl=context or True, force_close=True)
        limit = aiohttp.ClientTimeout(total=_TIME_LIMIT)
        try:
            async with aiohttp.ClientSession(connector=connector, timeout=limit) as session:
                answer = await self._refresh(session)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            why = str(error) or type(error).__name__
            raise CredentialError(f"cannot reach the OIDC issuer {self._client.issuer}: {self._masked(why)}") from error
        return self._accept(answer)

    async def _refresh(self, session: aiohttp.ClientSession) -> dict[str, Any]:
        metadata_url = f"{self._client.issuer.rstrip('/')}/.well-known/openid-configuration"
        async with session.get(metadata_url, proxy=proxy_for(metadata_url, self._environ)) as response:
            metadata = await self._json(response, "did not give its metadata")
        endpoint = self._endpoint(metadata)
        form = {"grant_type": "refresh_token", "refresh_token": self._refresh_token}
        headers = self._authenticate(form, metadata)
        proxy = proxy_for(endpoint, self._environ)
        async with session.post(endpoint, data=form, headers=headers, proxy=proxy, allow_redirects=False) as response:
            return await self._json(response, "refused to refresh the id-token")

    def _endpoint(self, metadata: dict[str, Any]) -> str:
        endpoint = metadata.get("token_endpoint")
        if not isinstance(endpoint, str) or not endpoint.startswith(("https://", "http://")):
            raise self._error("its metadata names no token_endpoint")
        if self._client.issuer.startswith("https:") and not endpoint.startswith("https:"):
            raise self._error("its metadata names a token_endpoint without TLS, which would give the tokens away")
        return endpoint

    def _authenticate(self, form: dict[str, str], metadata: dict[str, Any]) -> dict[str, str]:
        """Put the client's name and secret where the issuer wants them: into a header (the default) or the form."""
        client = self._client
        methods = metadata.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        if client.client_secret and ("client_secret_basic" in methods or "client_secret_post" not in methods):
            pair = f"{quote_plus(client.client_id)}:{quote_plus(client.client_secret)}"
            return {"Authorization": f"Basic {b64encode(pair.encode()).decode('ascii')}"}
        form["client_id"] = client.client_id
        if client.client_secret:
            form["client_secret"] = client.client_secret
        return {}

    async def _json(self, response: aiohttp.ClientResponse, failure: str) -> dict[str, Any]:
        try:
            answer = json.loads(await response.read())
        except ValueError:
            answer = None
        if response.status != 200:
            raise self._error(f"{failure} (HTTP {response.status}{self._reason(answer)})")
        if not isinstance(answer, dict):
            raise self._error(f"{failure}: its answer is not a JSON object")
        return answer

    def _reason(self, answer: Any) -> str:
        if not isinstance(answer, dict):
            return ""
        told = [answer.get("error"), answer.get("error_description")]
        return "".join(f", {self._masked(text[:200])}" for text in told if isinstance(text, str) and text)

    def _accept(self, answer: dict[str, Any]) -> Issued:
        token = answer.get("id_token")
        if not isinstance(token, str) or not token:
            raise self._error("refreshed, but gave no id_token; its scope openid may be missing")
        renewed = answer.get("refresh_token")
        if isinstance(renewed, str) and renewed:
            self._refresh_token = renewed
        return Issued.until(_expiry_in(token) or self._clock(), bearer(token, repr(self)), now=self._clock())

    def _masked(self, text: str) -> str:
        return masked(text, (self._refresh_token, self._client.client_secret))

    def _error(self, problem: str) -> CredentialError:
        return CredentialError(
            f"the OIDC issuer {self._client.issuer}: {problem}; log in again so that the kubeconfig has new tokens, "
            "or use an exec plugin such as kubelogin"
        )


def _expiry_in(token: str) -> datetime | None:
    """When a JWT expires, by its unverified payload (the API server verifies it); None if that cannot be told."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = json.loads(urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        return datetime.fromtimestamp(float(claims["exp"]), UTC)
    except (ValueError, KeyError, TypeError, OverflowError, OSError):
        return None
