"""What the guard costs each question: a key, a token, the count for rates, a line of the audit.

::

    python benchmarks/guard.py [--calls 20000]
"""

from __future__ import annotations

import json
import tempfile
import time
import timeit
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from cuihop_service.admission import RequestInfo, RequestOutcome
from cuihop_service.callers import Rate
from cuihop_service.guard.api_keys import new_key
from cuihop_service.guard.audit import AuditLog
from cuihop_service.guard.configured_guard import ConfiguredGuard
from cuihop_service.guard.key_file import KeyFile, changed_keys
from cuihop_service.guard.rates import Rates
from cuihop_service.guard.signing_keys import SigningKeys
from cuihop_service.guard.tokens import TokenRules, TokenVerifier
from measurement import Measurement, arguments_of

ISSUER, AUDIENCE = "https://idp.example", "cuihop"
KEYS = 100


def best(call: Callable[[], object], count: int) -> float:
    """Microseconds for one call: the best of five runs."""
    return min(timeit.repeat(call, number=count, repeat=5)) / count * 1e6


def token(key: Any, algorithm: str, kid: str, subject: str = "researcher") -> str:
    """A token that is good for an hour."""
    claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": subject, "exp": time.time() + 3600}
    return jwt.encode(claims, key, algorithm, headers={"kid": kid})


def main() -> None:
    """Measure, and print."""
    parser = arguments_of(__doc__)
    parser.add_argument("--calls", type=int, default=20_000)
    options = parser.parse_args()
    calls = options.calls
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        with changed_keys(folder / "keys.json") as kept:
            pairs = [new_key(f"caller{i}", ["read"], now=datetime.now(UTC)) for i in range(KEYS)]
            kept.extend(key for _, key in pairs)
        rsa_key, ec_key = rsa.generate_private_key(65537, 2048), ec.generate_private_key(ec.SECP256R1())
        public = [
            json.loads(RSAAlgorithm.to_jwk(rsa_key.public_key())) | {"kid": "rsa"},
            json.loads(ECAlgorithm.to_jwk(ec_key.public_key())) | {"kid": "ec"},
        ]
        (folder / "jwks.json").write_text(json.dumps({"keys": public}))

        def guard() -> ConfiguredGuard:
            tokens = TokenVerifier(TokenRules(ISSUER, [AUDIENCE]), SigningKeys(str(folder / "jwks.json")))
            rates = Rates(Rate(requests=1e9, pairs=10**11))
            return ConfiguredGuard(KeyFile(folder / "keys.json"), tokens, rates=rates)

        usual = guard()
        by_key = RequestInfo("distance", "http", credentials=f"Bearer {pairs[KEYS // 2][0]}", peer="10.0.0.1")
        by_token = RequestInfo(
            "distance", "http", credentials=f"Bearer {token(rsa_key, 'RS256', 'rsa')}", peer="10.0.0.1"
        )
        caller = usual.caller(by_key)
        usual.caller(by_token)
        audit = AuditLog(str(folder / "audit.jsonl"))
        finished = RequestOutcome(by_key, None, 0.001, "OK", "index", "0" * 64)
        told = {
            "a key": best(lambda: usual.caller(by_key), calls),
            "a token that was verified before": best(lambda: usual.caller(by_token), calls),
            "counting for rates, in process": best(lambda: usual.admit(caller, by_key), calls),  # type: ignore[arg-type]
            "a line of the audit": best(lambda: audit.finished(finished, None), calls),
        }
        for key, algorithm, kid in ((rsa_key, "RS256", "rsa"), (ec_key, "ES256", "ec")):
            fresh = TokenVerifier(TokenRules(ISSUER, [AUDIENCE]), SigningKeys(str(folder / "jwks.json")))
            different = [token(key, algorithm, kid, f"researcher {i}") for i in range(max(10, calls // 100))]
            begun = time.perf_counter()
            for text in different:
                fresh.caller(text)
            told[f"a new token, {algorithm}"] = (time.perf_counter() - begun) / len(different) * 1e6
    results = Measurement(("pyjwt", "cryptography"))
    for what, spent in told.items():
        print(f"{what:34} {spent:7.1f} µs")
        results.add(what, "cuihop", spent, "µs")
    results.save(options.json)


if __name__ == "__main__":
    main()
