"""Checks before a start: everything that would keep the service from answering as configured, each in one line."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from shutil import disk_usage
from typing import Any, Literal

from cuihop.addresses import is_neo4j_address
from cuihop.cli import MISSING_PACKAGE, exit_code
from cuihop.collection.concept_tables import ConceptCounts
from cuihop.errors import CuihopError, GraphUnavailable, InputError, OutputError, SnapshotError, installation, reason_of
from cuihop.graph import Release
from cuihop_service.addresses import bound_socket, check_exposure, listen, reserved_port
from cuihop_service.folders import check_folder
from cuihop_service.health_check import running_on_grpc, running_on_http
from cuihop_service.own_copy import LOCK, bytes_to_copy
from cuihop_service.servers import connections_each, tls_context
from cuihop_service.settings import ServiceSettings, misspelt_variables, read_settings, setting_problems
from cuihop_service.stores import store_at
from cuihop_service.worker import check_cypher, curators_connection, tls_files

_SOON = timedelta(days=30)

State = Literal["ok", "warning", "failed"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check.

    Attributes:
        state: ``warning`` does not keep the service from its work.
        text: one line; for a failure with the way on.
        exit_code: 0, or for a failure that of its error: see `cuihop.cli`.
    """

    part: str
    state: State
    text: str
    exit_code: int = 0


class _Remark(str):
    """A result with a warning."""

    __slots__ = ()


def findings(flags: dict[str, Any], file: Path | None) -> Iterator[Finding]:
    """The results of all checks, in the order of a start; only those of the settings where these are refused.

    Nothing is left behind, and no port stays taken; this service may be on them already. A password is tried once.
    """
    for name, meant in misspelt_variables(os.environ):
        yield Finding("settings", "warning", f"variable {name}: no setting of this name. Did you mean {meant}?")
    problems = setting_problems(flags, file)
    yield from (_failure("settings", error) for error in problems)
    if problems:
        return
    try:
        settings = read_settings(flags, file)
    except InputError as error:  # two settings that do not go together
        yield _failure("settings", error)
        return
    yield Finding("settings", "ok", "read" if file is None else f"read, also from {file}")
    for part, check in _CHECKS.items():
        try:
            result = check(settings)
        except CuihopError as error:
            yield _failure(part, error)
        except ModuleNotFoundError as error:
            advice = installation("cuihop[all]")
            yield Finding(part, "failed", f"the package {error.name} is not installed: {advice}", MISSING_PACKAGE)
        else:
            if result is not None:
                yield Finding(part, "warning" if isinstance(result, _Remark) else "ok", str(result))


def _failure(part: str, error: CuihopError) -> Finding:
    return Finding(part, "failed", " ".join(str(error).split()), exit_code(error))


def _exposure(settings: ServiceSettings) -> str:
    warning = check_exposure(settings.host, settings.authenticates, settings.tls_certificate is not None)
    callers = "callers are authenticated" if settings.authenticates else "callers are not authenticated"
    return f"{settings.host}: {callers}" if warning is None else _Remark(warning)


def _http_port(settings: ServiceSettings) -> str:
    try:
        listen(bound_socket(settings.host, settings.http_port)).close()
    except InputError:
        if (service := running_on_http(settings)) is None:
            raise
        return f"{service} answers there"
    return f"{settings.http_port} is free"


def _grpc_port(settings: ServiceSettings) -> str:
    try:
        reserved_port(settings.host, settings.grpc_port).close()
    except InputError:
        if (service := running_on_grpc(settings)) is None:
            raise
        return f"{service} answers there"
    return f"{settings.grpc_port} is free"


def _connections(settings: ServiceSettings) -> str:
    each = connections_each(settings.address_limits.connections)
    return f"{each:,} on each port of a worker"


def _certificate(settings: ServiceSettings) -> str | None:
    from cryptography import x509  # takes long to import

    tls = tls_files(settings)
    if tls is None:
        return None
    tls_context(tls)
    until = x509.load_pem_x509_certificate(tls.certificate.read_bytes()).not_valid_after_utc
    if until < datetime.now(UTC):
        raise InputError(
            "the certificate has expired", file=tls.certificate, found=f"{until:%Y-%m-%d}", expected="a later date",
            advice="Have it renewed, and put the new file in its place.",
        )  # fmt: skip
    text = f"{tls.certificate}: valid until {until:%Y-%m-%d}"
    return _Remark(f"{text}; have it renewed") if until < datetime.now(UTC) + _SOON else text


def _keys(settings: ServiceSettings) -> str | None:
    from cuihop_service.guard.key_file import read_keys

    if settings.keys_file is None:
        return None
    now = datetime.now(UTC)
    active = sum(key.state(now) == "active" for key in read_keys(settings.keys_file))
    text = f"{settings.keys_file}: {active:,} active"
    advice = f"create one with: cuihop service keys create NAME --keys-file {settings.keys_file}"
    return text if active else _Remark(f"{text}; {advice}")


def _tokens(settings: ServiceSettings) -> str | None:
    from cuihop_service.guard.signing_keys import SigningKeys

    if settings.jwks is None:
        return None
    keys = SigningKeys(settings.jwks)
    try:
        asyncio.run(keys.fetched(None))
    except GraphUnavailable:
        raise GraphUnavailable(
            f"{settings.jwks}: no signing keys from the identity provider; check the setting jwks and the network"
        ) from None
    finally:
        keys.close()
    return f"{settings.jwks}: signing keys read"


def _index_folder(settings: ServiceSettings) -> str:
    folder = settings.index_folder.expanduser()
    nearest = check_folder(folder, "the setting index_folder", folder / LOCK)
    if not is_neo4j_address(settings.graph):
        with suppress(SnapshotError):  # see `_graph`
            needed = bytes_to_copy(Path(settings.graph.removeprefix("snapshot:")), folder)
            free = disk_usage(nearest).free
            if needed > free:
                return _Remark(
                    f"{folder}: no room for a copy of the snapshot, which is then served as it lies there: "
                    f"{needed:,} bytes are needed, {free:,} are free"
                )
    return f"{folder}: can be written"


def _audit(settings: ServiceSettings) -> str | None:
    if settings.audit in (None, "-"):
        return None
    file = Path(str(settings.audit))
    check_folder(file.parent, "the setting audit", file, create=False)
    return f"{file}: can be written"


def _other_folders(settings: ServiceSettings) -> str:
    code = os.environ.get("NUMBA_CACHE_DIR")
    try:
        folders = [check_folder(Path(tempfile.gettempdir()), "the variable TMPDIR", create=False)]
        folders += [check_folder(Path(code), "the variable NUMBA_CACHE_DIR")] if code else []
    except (OSError, OutputError) as error:
        return _Remark(f"{reason_of(error)}. The service works without it, with less in its metrics or a slower start")
    return f"{', '.join(map(str, folders))}: can be written"


def _graph(settings: ServiceSettings) -> str:
    folder = settings.index_folder.expanduser()
    store_at(settings.graph, index=settings.index == "on", index_folder=folder, caching=lambda graph: None)
    if is_neo4j_address(settings.graph):
        from cuihop.neo4j_graph.graph import Neo4jGraph  # with the driver, which takes long to import

        with Neo4jGraph.open(settings.graph) as graph:
            return f"{settings.graph}: {_described(graph.release)}"
    from cuihop.snapshot.graph import SnapshotGraph

    path = settings.graph.removeprefix("snapshot:")
    snapshot = SnapshotGraph.open(path)
    snapshot.verify()
    return f"{path}: {_described(snapshot.release)}"


def _corpus(settings: ServiceSettings) -> str | None:
    if settings.information_content_counts is None:
        return None
    return ConceptCounts.read(settings.information_content_counts).account


def _described(release: Release) -> str:
    return f"release {release.name}, {release.concepts:,} concepts, {release.edges:,} edges"


def _redis(settings: ServiceSettings) -> str | None:
    if settings.redis is None:
        return None
    from cuihop_service.cache.redis_cache import check_redis  # the client of Redis takes long to import

    return f"{check_redis(settings.redis.get_secret_value())}: answers"


def _cypher(settings: ServiceSettings) -> str | None:
    if not settings.cypher:
        return None
    check_cypher(settings)
    if settings.cypher_user is None:
        return _Remark("queries run as the service's own Neo4j user; cypher_user names one that may only read")
    from cuihop.neo4j_graph.releases import database_state

    with curators_connection(settings) as connection:
        database_state(connection)
    return f"queries run as the Neo4j user {settings.cypher_user}"


def _traces(settings: ServiceSettings) -> str | None:
    if not settings.traces:
        return None
    for package in ("cuihop_service.observe.traces", "opentelemetry.exporter.otlp.proto.grpc.trace_exporter"):
        import_module(package)
    return "the packages are installed"


_CHECKS: dict[str, Callable[[ServiceSettings], str | None]] = {
    "host": _exposure,
    "HTTP port": _http_port,
    "gRPC port": _grpc_port,
    "connections": _connections,
    "certificate": _certificate,
    "keys": _keys,
    "tokens": _tokens,
    "index folder": _index_folder,
    "audit": _audit,
    "other folders": _other_folders,
    "graph": _graph,
    "counts of a corpus": _corpus,
    "Redis": _redis,
    "Cypher": _cypher,
    "traces": _traces,
}
