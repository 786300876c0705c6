"""Tokens of an identity provider, made with real keys and verified against a real server of signing keys."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import grpc
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import get_default_algorithms

from cuihop.errors import GraphUnavailable, InputError, NotAuthenticated
from cuihop_server import running_service
from cuihop_service.admission import RequestInfo
from cuihop_service.callers import Caller
from cuihop_service.guard import signing_keys
from cuihop_service.guard.api_keys import PREFIX
from cuihop_service.guard.configured_guard import ConfiguredGuard
from cuihop_service.guard.signing_keys import SigningKeys, public_keys
from cuihop_service.guard.tokens import TokenRules, TokenVerifier
from example_graph import example_graph
from guarded_service import DISTANCE, A, B, bearer, guard_of, http, refused, stub
from waiting import wait_for

ISSUER, AUDIENCE = "https://idp.example", "cuihop"
RSA = rsa.generate_private_key(65537, 2048)
OTHER = rsa.generate_private_key(65537, 2048)
WEAK = rsa.generate_private_key(65537, 1024)  # noqa: S505 - it must be refused
EC = ec.generate_private_key(ec.SECP256R1())
ED = ed25519.Ed25519PrivateKey.generate()


def public(key: Any, kid: str | None, algorithm: str, **others: Any) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(get_default_algorithms()[algorithm].to_jwk(key.public_key()))
    return fields | ({} if kid is None else {"kid": kid}) | others


def signed(key: Any = RSA, algorithm: str = "RS256", kid: str | None = "one", **changes: Any) -> str:
    now = int(time.time())
    claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": "researcher", "exp": now + 300, "scope": "openid cuihop:read"}
    claims |= changes
    claims = {name: value for name, value in claims.items() if value is not None}
    return jwt.encode(claims, key, algorithm, headers={} if kid is None else {"kid": kid})


class Provider:
    """Serves its keys, counts who asks, and can be down or slow."""

    def __init__(self) -> None:
        self.keys: list[dict[str, Any]] = [public(RSA, "one", "RS256")]
        self.grpc_stub = 0
        self.status = 200
        self.answers = threading.Event()
        self.answers.set()
        self.body: bytes | None = None
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                provider.grpc_stub += 1
                provider.answers.wait(60)
                body = provider.body or json.dumps({"keys": provider.keys}).encode()
                self.send_response(provider.status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}/keys"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def provider() -> Iterator[Provider]:
    provided = Provider()
    yield provided
    provided.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def keys(provider: Provider, clock: Clock) -> Iterator[SigningKeys]:
    provided = SigningKeys(provider.address, clock=clock)
    yield provided
    provided.close()


@pytest.fixture
def verifier(keys: SigningKeys) -> TokenVerifier:
    return TokenVerifier(TokenRules(ISSUER, [AUDIENCE]), keys)


def caller(verifier: TokenVerifier, token: str) -> Caller:
    async def ask() -> Caller:
        found = verifier.caller(token)
        return found if isinstance(found, Caller) else await found

    return asyncio.run(ask())


@pytest.mark.parametrize(
    ("key", "algorithm"),
    [(RSA, "RS256"), (RSA, "RS512"), (RSA, "PS256"), (EC, "ES256"), (ED, "EdDSA")],
)
def test_a_token_speaks_for_its_subject(verifier: TokenVerifier, provider: Provider, key: Any, algorithm: str) -> None:
    provider.keys = [public(OTHER, "two", "RS256"), public(key, "one", algorithm)]
    found = caller(verifier, signed(key, algorithm))
    assert found == Caller("token:researcher", frozenset({"read"}))


def test_a_subject_of_the_longest_length(verifier: TokenVerifier) -> None:
    assert caller(verifier, signed(sub="s" * 256)).name == "token:" + "s" * 256
    for subject in ("s" * 257, ""):
        with pytest.raises(NotAuthenticated, match="names nobody"):
            caller(verifier, signed(sub=subject))


def test_a_token_of_the_longest_length(verifier: TokenVerifier, monkeypatch: pytest.MonkeyPatch) -> None:
    token = signed(more="m" * 5_000)
    monkeypatch.setattr("cuihop_service.guard.tokens._LONGEST", len(token))
    assert caller(verifier, token).name == "token:researcher"
    with pytest.raises(NotAuthenticated, match="longer than"):
        caller(verifier, signed(more="m" * 5_003))


def test_the_provider_is_asked_once_and_a_verified_token_is_remembered(
    verifier: TokenVerifier, provider: Provider
) -> None:
    token = signed()
    caller(verifier, token)
    assert isinstance(verifier.caller(token), Caller)  # at once, without an event loop
    assert isinstance(verifier.caller(signed(sub="other")), Caller)
    assert provider.grpc_stub == 1


def test_a_guard_waits_only_for_tokens_that_are_new(verifier: TokenVerifier) -> None:
    guard, token = ConfiguredGuard(tokens=verifier), signed()
    question = RequestInfo("distance", "http", credentials=f"Bearer {token}")
    assert guard.waits(question)
    for _ in range(2):  # the first fetches the provider's keys, and what was verified before them is forgotten
        caller(verifier, token)
    assert not guard.waits(question)
    assert not guard.waits(RequestInfo("distance", "http"))
    assert not guard.waits(RequestInfo("distance", "http", credentials=f"Bearer {PREFIX}x"))


def tampered(token: str) -> str:
    head, claims, signature = token.split(".")
    fields = json.loads(base64.urlsafe_b64decode(claims + "=="))
    fields["sub"] = "director"
    return ".".join([head, base64.urlsafe_b64encode(json.dumps(fields).encode()).decode().rstrip("="), signature])


def unsigned() -> str:
    return jwt.encode(
        {"iss": ISSUER, "aud": AUDIENCE, "sub": "x", "exp": time.time() + 300}, "", "none", {"kid": "one"}
    )


def confused() -> str:
    """Signed with the public key as if it were a secret: by hand, for PyJWT refuses to make one."""
    import hashlib
    import hmac

    pem = RSA.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    head, claims, _ = signed().split(".")
    head = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT","kid":"one"}').decode().rstrip("=")
    signature = hmac.new(pem, f"{head}.{claims}".encode(), hashlib.sha256).digest()
    return f"{head}.{claims}." + base64.urlsafe_b64encode(signature).decode().rstrip("=")


@pytest.mark.parametrize(
    ("token", "fault"),
    [
        (lambda: signed(exp=int(time.time()) - 60), "expired"),
        (lambda: signed(exp=None), "lacks a claim"),
        (lambda: signed(nbf=int(time.time()) + 120), "not valid yet"),
        (lambda: signed(iat=int(time.time()) + 120), "not valid yet"),
        (lambda: signed(iss="https://elsewhere.example"), "another issuer"),
        (lambda: signed(iss=None), "lacks a claim|another issuer"),
        (lambda: signed(aud="another"), "another service"),
        (lambda: signed(aud=None), "lacks a claim|another service"),
        (lambda: signed(sub=None), "lacks a claim"),
        (lambda: signed(sub=""), "nobody"),
        (lambda: signed(sub="x" * 300), "nobody"),
        (lambda: signed(sub="a\nb"), "nobody"),
        (lambda: signed(sub="\ud800"), "nobody"),
        (lambda: signed(exp="soon"), "not valid"),
        (lambda: signed(OTHER), "signature"),
        (lambda: signed(kid="unknown"), "does not have"),
        (lambda: signed(kid="two"), "does not have"),
        (lambda: tampered(signed()), "signature"),
        (unsigned, "believed"),
        (confused, "believed"),
        (lambda: jwt.encode({"sub": "x"}, "x" * 32, "HS256", {"kid": "one"}), "believed"),
        (lambda: signed(EC, "ES256"), "believed|signature|not valid"),
        (lambda: signed()[:-10], "signature|not valid|cannot be read"),
        (lambda: signed()[:60], "cannot be read"),
        (lambda: signed() + "x" * 9000, "longer"),
        (lambda: "..", "cannot be read"),
        (lambda: "a.b.c", "cannot be read"),
        (lambda: "é.\ud800.", "cannot be read"),
        (lambda: base64.urlsafe_b64encode(b"[" * 3000).decode() + ".e30.", "cannot be read"),
        (lambda: base64.urlsafe_b64encode(b'{"alg":["RS256"],"kid":"one"}').decode() + ".e30.x", "believed|cannot"),
        (lambda: base64.urlsafe_b64encode(b'{"alg":"RS256","kid":{"a":1}}').decode() + ".e30.x", "no name|cannot"),
    ],
)  # fmt: skip
def test_what_is_not_the_issuers_word_is_refused(
    verifier: TokenVerifier, provider: Provider, token: Callable[[], str], fault: str
) -> None:
    provider.keys += [public(WEAK, "two", "RS256"), {"kty": "oct", "k": "c2VjcmV0", "kid": "unknown", "alg": "HS256"}]
    with pytest.raises(NotAuthenticated, match=fault) as raised:
        caller(verifier, token())
    assert "researcher" not in str(raised.value)


def test_a_token_may_expire_at_the_end_of_time(verifier: TokenVerifier) -> None:
    assert caller(verifier, signed(exp=10**400)).name == "token:researcher"


def test_clocks_may_differ_by_the_leeway(keys: SigningKeys) -> None:
    verifier = TokenVerifier(TokenRules(ISSUER, [AUDIENCE], leeway=600), keys)
    assert caller(verifier, signed(exp=int(time.time()) - 100)).name == "token:researcher"
    assert caller(verifier, signed(nbf=int(time.time()) + 100)).name == "token:researcher"


def test_a_remembered_token_expires(verifier: TokenVerifier) -> None:
    token = ""

    def is_known() -> bool:
        nonlocal token
        token = signed(exp=int(time.time()) - 25)  # the leeway ends in five seconds, by when it may be read too late
        with suppress(NotAuthenticated):
            return bool(caller(verifier, token))
        return False

    def is_expired() -> bool:
        try:
            caller(verifier, token)
        except NotAuthenticated as error:
            return "expired" in str(error)
        return False

    wait_for(is_known)
    wait_for(is_expired)


def test_a_key_need_not_be_named_where_there_is_one(verifier: TokenVerifier, provider: Provider) -> None:
    provider.keys = [public(RSA, None, "RS256")]
    assert caller(verifier, signed(kid=None)).name == "token:researcher"


def test_new_keys_of_the_provider_are_found_and_withdrawn_ones_forgotten(
    verifier: TokenVerifier, provider: Provider, clock: Clock
) -> None:
    old = signed()
    caller(verifier, old)
    provider.keys = [public(OTHER, "two", "RS256")]
    with pytest.raises(NotAuthenticated):  # asked a moment ago, so that not again
        caller(verifier, signed(OTHER, kid="two"))
    clock.now += 11
    assert caller(verifier, signed(OTHER, kid="two")).name == "token:researcher"
    with pytest.raises(NotAuthenticated):
        caller(verifier, old)
    assert provider.grpc_stub == 2


def test_strangers_cannot_make_the_service_ask_the_provider_again_and_again(
    verifier: TokenVerifier, provider: Provider, clock: Clock
) -> None:
    async def flood() -> None:
        for number in range(200):
            with pytest.raises(NotAuthenticated):
                await _awaited(verifier, signed(OTHER, kid=f"made-up-{number}"))

    asyncio.run(flood())
    assert provider.grpc_stub == 1
    clock.now += 11
    asyncio.run(flood())
    assert provider.grpc_stub == 2


def test_an_unforeseen_failure_of_a_look_at_the_provider_is_logged_with_its_reason(
    verifier: TokenVerifier, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def failing(text: bytes, source: str) -> None:
        raise RuntimeError

    monkeypatch.setattr(signing_keys, "public_keys", failing)
    with pytest.raises(GraphUnavailable):
        caller(verifier, signed())
    assert "no signing keys from" in caplog.text
    assert "RuntimeError" in caplog.text


@pytest.mark.parametrize(
    "body",
    [b"x", b"<html>", b"[]", b'{"keys": []}', b'{"keys": [7, {"kty": "RSA"}]}', b"[" * 99_999, b" " * (2 << 20)],
)
def test_a_provider_that_is_down_or_talks_nonsense(
    verifier: TokenVerifier, provider: Provider, clock: Clock, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    whole = provider.body
    provider.body = body
    with pytest.raises(GraphUnavailable, match="identity provider"):
        caller(verifier, signed())
    assert "no signing keys" in caplog.text
    with pytest.raises(GraphUnavailable):
        caller(verifier, signed())
    assert provider.grpc_stub == 1
    provider.body = whole
    clock.now += 11
    assert caller(verifier, signed()).name == "token:researcher"
    provider.status = 500
    clock.now += 700  # stale: asked behind the scenes, in vain; the old keys go on
    assert caller(verifier, signed()).name == "token:researcher"
    clock.now += 90_000  # nobody has vouched for these keys for a day
    with pytest.raises(GraphUnavailable):
        caller(verifier, signed(sub="somebody new"))


def test_a_slow_provider_holds_up_nobody_else(verifier: TokenVerifier, provider: Provider) -> None:
    provider.answers.clear()

    async def ask() -> list[Caller]:
        waiting = [asyncio.ensure_future(_awaited(verifier, signed(sub=f"s{i}"))) for i in range(5)]
        while not provider.grpc_stub:
            await asyncio.sleep(0)
        assert not any(task.done() for task in waiting)  # and the loop goes on
        provider.answers.set()
        return await asyncio.gather(*waiting)

    found = asyncio.run(ask())
    assert [caller.name for caller in found] == [f"token:s{i}" for i in range(5)]
    assert provider.grpc_stub == 1


async def _awaited(verifier: TokenVerifier, token: str) -> Caller:
    found = verifier.caller(token)
    return found if isinstance(found, Caller) else await found


@pytest.mark.parametrize(
    ("claim", "value", "expected"),
    [
        ("scope", "openid cuihop:read cuihop:names other", {"read", "names"}),
        ("scope", "", set()),
        ("scope", 7, set()),
        ("roles", ["cuihop:read", 7, "cuihop:cypher"], {"read", "cypher"}),
        ("realm_access.roles", ["cuihop:metrics"], {"metrics"}),
        ("https://idp.example/roles", ["cuihop:read"], {"read"}),
    ],
)
def test_scopes_come_from_a_claim_of_choice(keys: SigningKeys, claim: str, value: Any, expected: set[str]) -> None:
    claims: dict[str, Any] = {"scope": None, claim: value}
    if claim == "realm_access.roles":
        claims = {"scope": None, "realm_access": {"roles": value}}
    found = caller(TokenVerifier(TokenRules(ISSUER, [AUDIENCE], scope_claim=claim), keys), signed(**claims))
    assert found.scopes == expected


def test_scopes_can_have_other_names(keys: SigningKeys) -> None:
    rules = TokenRules(ISSUER, ["other", AUDIENCE], scopes={"radiology": ["read", "names"]})
    assert caller(TokenVerifier(rules, keys), signed(scope="radiology cuihop:cypher")).scopes == {"read", "names"}


@pytest.mark.parametrize(
    "rules",
    [
        {"issuer": "", "audience": ["a"]},
        {"issuer": "i", "audience": []},
        {"issuer": "i", "audience": [""]},
        {"issuer": "i", "audience": ["a"], "scopes": {"x": ["root"]}},
        {"issuer": "i", "audience": ["a"], "leeway": 1e9},
    ],
)
def test_rules_that_would_believe_too_much_are_refused(rules: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        TokenRules(**rules)


def test_signing_keys_from_a_file_and_from_where_they_may_not_come(tmp_path: Path) -> None:
    file = tmp_path / "jwks.json"
    file.write_text(json.dumps({"keys": [public(EC, "one", "ES256")]}))
    verifier = TokenVerifier(TokenRules(ISSUER, AUDIENCE), SigningKeys(str(file)))
    assert verifier.caller(signed(EC, "ES256")) == Caller("token:researcher", frozenset({"read"}))
    with pytest.raises(InputError, match="HTTPS"):
        SigningKeys("http://idp.example/keys")
    for absent in (str(tmp_path / "nothing"), "ftp://idp.example/keys"):
        with pytest.raises(InputError, match="cannot be read"):
            SigningKeys(absent)
    file.write_text("{}")
    with pytest.raises(InputError, match="JWKS"):
        SigningKeys(str(file))


def test_secrets_private_and_encryption_keys_are_no_signing_keys() -> None:
    private = json.loads(get_default_algorithms()["RS256"].to_jwk(RSA))
    encrypting, weak = public(RSA, "e", "RS256", use="enc"), public(WEAK, "w", "RS256")
    symmetric = public(RSA, "h", "RS256", alg="HS256")
    listed = [private, {"kty": "oct", "k": "c2VjcmV0"}, encrypting, weak, symmetric, "x", None]
    with pytest.raises(InputError, match="no key"):
        public_keys(json.dumps({"keys": listed}).encode(), "here")


def test_tokens_over_both_transports(provider: Provider) -> None:
    guard = guard_of(issuer=ISSUER, audience=[AUDIENCE], jwks=provider.address)
    path = f"/v1/distance?a={A}&b={B}"
    with running_service(example_graph(), guard=guard) as service, stub(service) as grpc_stub:
        assert http(service, path, key=signed()).json["hops"] == 3
        assert grpc_stub.Distance(DISTANCE, metadata=bearer(signed())).hops == 3
        assert http(service, "/v1/search?text=a", key=signed()).status == 403
        for wrong in (unsigned(), confused(), signed(OTHER), signed(exp=1)):
            assert http(service, path, key=wrong).status == 401
            code, reason, _ = refused(partial(grpc_stub.Distance, DISTANCE, metadata=bearer(wrong)))
            assert (code, reason) == (grpc.StatusCode.UNAUTHENTICATED, "NOT_AUTHENTICATED")
        assert http(service, path, key="cuihop_0123456789_x").json["detail"] == "this service takes no keys"
    asyncio.run(guard.close())


def test_where_the_provider_is_down_keys_go_on_and_tokens_are_told_to_come_again(tmp_path: Path) -> None:
    guard = guard_of(issuer=ISSUER, audience=[AUDIENCE], jwks="http://127.0.0.1:1/keys")
    assert isinstance(guard, ConfiguredGuard)
    with running_service(example_graph(), guard=guard) as service, stub(service) as grpc_stub:
        answer = http(service, f"/v1/distance?a={A}&b={B}", key=signed())
        assert (answer.status, answer.json["reason"]) == (503, "GRAPH_UNAVAILABLE")
        code, _, _ = refused(lambda: grpc_stub.Distance(DISTANCE, metadata=bearer(signed())))
        assert code == grpc.StatusCode.UNAVAILABLE
