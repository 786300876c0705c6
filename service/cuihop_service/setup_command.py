"""``cuihop service setup``: all files of a guarded service in one go."""

from __future__ import annotations

import ipaddress
import json
import os
import secrets
import shlex
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import typer

from cuihop.addresses import is_neo4j_address
from cuihop.cli.option_groups import argument, option, option_group
from cuihop.errors import InputError, OutputError, first_few, output_errors
from cuihop_service.guard.api_keys import new_key
from cuihop_service.guard.key_file import key_file_text
from cuihop_service.settings import ENVIRONMENT_PREFIX, ServiceSettings

_DAYS = 365
"""Until a self-signed certificate, and the keys of callers, expire."""


@option_group
class SetupOptions:
    """A service to set up."""

    folder: str = argument("The folder of the files. It is created if there is none.")
    graph: str = option("Neo4j at bolt://…, or the path of a snapshot.", default="bolt://localhost:7687")
    name: list[str] | None = option("A host name or address that callers use. May be repeated. Without: localhost.")
    caller: list[str] | None = option("A caller who gets a key. May be repeated. Without: caller.")
    certificate_request: bool = option("Let your authority sign, by a request, not the service itself.", default=False)


def setup(options: SetupOptions) -> None:
    """Write the files of a guarded service into a folder: settings, certificate, keys and passwords.

    cuihop.toml has the settings of a department, .env the passwords of Neo4j and Redis. keys/ has a key for each
    caller, valid for a year, one for a curator, who sees names, and one for Prometheus; keys.json has their hashes.
    Only you can read the files. Nothing is overwritten.
    """
    folder, database, request = Path(options.folder), is_neo4j_address(options.graph), options.certificate_request
    graph = options.graph if database else f"snapshot:{Path(options.graph.removeprefix('snapshot:')).absolute()}"
    names = list(dict.fromkeys([*(options.name or ["localhost"]), *([] if request else ["localhost"])]))
    certificate, private = _certificate(names, request)
    keys = _keys(options.caller or ["caller"])
    files = {
        "service.csr" if request else "service.pem": certificate,
        "service.key": private,
        "keys.json": key_file_text([stored for _, stored in keys]),
        "cuihop.toml": _settings(folder.absolute(), graph),
        ".env": _environment(folder.absolute(), graph if database else None),
    }
    _write(folder, files | {f"keys/{stored.name}.key": f"{text}\n".encode() for text, stored in keys})
    signed = f"have your authority sign {folder / 'service.csr'}; save its answer as {folder / 'service.pem'}"
    lines = [
        f"{folder}: {', '.join(files)}, and {len(keys)} keys in keys",
        "Next:",
        *([signed] if request else []),
        f"set -a; . {shlex.quote(str(folder / '.env'))}; set +a",
        *(["docker compose up --detach --wait neo4j redis", f"load a release into {graph}"] if database else []),
        "cuihop service check",
        "cuihop serve",
        f"give each key in {folder / 'keys'} to its owner, and delete it",
    ]
    typer.echo("\n  ".join(lines).replace("  Next:", "Next:"))


def _keys(callers: list[str]) -> list[tuple[str, Any]]:
    """A key for each caller, a curator and Prometheus: its text, and what is stored of it."""
    others = {"curator": ["read", "names"], "prometheus": ["metrics"]}
    names = [*callers, *others]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise InputError("two keys of one name", column="caller", found=first_few(repeated))
    now = datetime.now(UTC)
    keys = [new_key(name, ["read"], now=now, days=_DAYS) for name in callers]
    return keys + [new_key(name, scopes, now=now) for name, scopes in others.items()]


def _settings(folder: Path, store: str) -> bytes:
    """The settings file, in TOML."""
    files = {"index_folder": "index", "tls_certificate": "service.pem", "tls_key": "service.key"}
    files |= {"keys_file": "keys.json", "audit": "audit.jsonl"}
    values = {"graph": store, "host": "0.0.0.0", "workers": 2}  # noqa: S104 - with TLS and keys
    values |= {name: str(folder / file) for name, file in files.items()}
    values |= {"rate_requests": 50, "rate_burst": 200, "rate_pairs": 1_000_000}
    text = "# Settings of this service. All others: cuihop serve --help. Passwords are in .env.\n"
    for name in ServiceSettings.model_fields:
        if name in values:
            description = ServiceSettings.model_fields[name].description
            text += f"\n# {description}\n{name} = {json.dumps(values[name], ensure_ascii=False)}\n"
    return text.encode()


def _environment(folder: Path, database: str | None) -> bytes:
    """The variables of the service, and of the servers that compose starts for a database."""
    variables = {f"{ENVIRONMENT_PREFIX}CONFIG": str(folder / "cuihop.toml")}
    if database is not None:
        redis = secrets.token_hex(16)
        variables |= {"CUIHOP_NEO4J": database, "NEO4J_PASSWORD": secrets.token_hex(16), "REDIS_PASSWORD": redis}
        variables |= {f"{ENVIRONMENT_PREFIX}REDIS": f"redis://:{redis}@localhost:6379/0"}
    return "".join(f"{name}={shlex.quote(value)}\n" for name, value in variables.items()).encode()


def _certificate(names: list[str], request: bool) -> tuple[bytes, bytes]:
    """A self-signed certificate for these names, or a request for one, and its key, in PEM."""
    from cryptography import x509  # takes long to import
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    def general(name: str) -> x509.GeneralName:
        try:
            return x509.IPAddress(ipaddress.ip_address(name))
        except ValueError:
            return x509.DNSName(name)

    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    try:
        subject = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, names[0][:64])])
        others = x509.SubjectAlternativeName(map(general, names))
    except ValueError as error:
        raise InputError("not the name of a host", column="name", found=first_few(names), expected=str(error)) from None
    signed: x509.Certificate | x509.CertificateSigningRequest
    if request:
        signed = x509.CertificateSigningRequestBuilder(subject).add_extension(others, False).sign(key, SHA256())
    else:
        own = x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        own = own.not_valid_before(now - timedelta(hours=1)).not_valid_after(now + timedelta(days=_DAYS))
        own = own.add_extension(others, False).add_extension(x509.BasicConstraints(ca=False, path_length=None), True)
        signed = own.sign(key, SHA256())
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return signed.public_bytes(Encoding.PEM), private


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write all files, which only the user can read, or none. git ignores a folder that is new."""
    if there := [name for name in files if os.path.lexists(folder / name)]:
        raise OutputError(f"{folder}: nothing was written: {first_few(there)} exist already; give another folder")
    written: list[Path] = []
    with output_errors(f"{folder}: not written"):
        files = files if folder.exists() else {**files, ".gitignore": b"*\n"}
        folder.mkdir(mode=0o700, exist_ok=True)
        folder.joinpath("keys").mkdir(mode=0o700, exist_ok=True)
        try:
            for name, content in files.items():
                number = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                written.append(folder / name)
                with os.fdopen(number, "wb") as file:
                    file.write(content)
        except BaseException:
            for path in written:
                path.unlink(missing_ok=True)
            raise
