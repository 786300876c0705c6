"""The settings of the service: each has a flag, a variable of the environment, and a line in the settings file.

A flag wins over the environment, the environment over the file, the file over the default.
"""

from __future__ import annotations

import dataclasses
import json
import stat
import tomllib
from collections.abc import Collection, Iterator, Mapping, Set
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from annotated_types import Ge, Gt, Le
from pydantic import Field, SecretStr, ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

from cuihop.errors import InputError, reason_of
from cuihop_service.guard.address_limits import AddressLimits
from cuihop_service.limits import Limits

ENVIRONMENT_PREFIX = "CUIHOP_"
_RENAMED = {"store": "graph", f"{ENVIRONMENT_PREFIX}STORE": f"{ENVIRONMENT_PREFIX}GRAPH"}

Port = Annotated[int, Ge(0), Le(65535)]
Count = Annotated[int, Ge(1)]
Positive = Annotated[float, Gt(0)]

_DEFAULTS = Limits()
_OF_ADDRESSES = AddressLimits()


class ServiceSettings(BaseSettings):
    """Settings of the service."""

    model_config = SettingsConfigDict(env_prefix=ENVIRONMENT_PREFIX, extra="forbid", frozen=True)

    graph: str = Field(
        description="The graph to serve: path of a snapshot, bolt://HOST:PORT of a Neo4j server, or neo4j://HOST of a "
        "cluster. User and password: NEO4J_USER, and NEO4J_PASSWORD or NEO4J_PASSWORD_FILE."
    )
    index: Literal["on", "off"] = Field(
        "on", description="on: also hold a Neo4j release in memory. off: answer by Cypher and the cache only."
    )
    index_folder: Path = Field(
        Path("~/.cache/cuihop/index"),
        description="Folder of index files of Neo4j releases, and of the copy of a snapshot.",
    )
    watch_seconds: Positive = Field(1.0, description="Seconds between checks for a new release or a lost database.")
    information_content_counts: Path | None = Field(
        None, description="Counts of concepts, for the information content corpus."
    )
    host: str = Field("127.0.0.1", description="Address to listen on. Any other than loopback needs authentication.")
    http_port: Port = Field(8080, description="Port for HTTP; 0 for any free one.")
    grpc_port: Port = Field(50051, description="Port for gRPC; 0 for any free one.")
    workers: Annotated[int, Ge(1), Le(256)] = Field(
        1, description="Worker processes; they share the release in memory."
    )
    explorer: bool = Field(True, description="Serve the web explorer at /. Its pages hold no data.")
    mcp: bool = Field(True, description="Serve tools for language-model agents at /mcp, if the extra mcp is installed.")
    fhir: bool = Field(True, description="Serve operations of FHIR R4 on codes at /fhir.")
    hosts: list[str] = Field(
        [], description="Host names that HTTP answers to. Empty: any with authentication, else those of loopback."
    )
    proxies: list[str] = Field(
        [], description="Addresses or networks of proxies, which are exempt from the limits of an address."
    )
    drain_seconds: Annotated[float, Ge(0)] = Field(
        20.0, description="Seconds for running requests to finish at a stop."
    )
    drain_delay: Annotated[float, Ge(0)] = Field(
        0.0, description="Seconds between announcing the stop and stopping, for a load balancer to notice."
    )
    tls_certificate: Path | None = Field(None, description="PEM file of the service's certificate, for both ports.")
    tls_key: Path | None = Field(None, description="PEM file of its key.")
    tls_client_ca: Path | None = Field(
        None, description="PEM file of the authority that signs callers' certificates. Callers must then present one."
    )
    keys_file: Path | None = Field(None, description="The file of the API keys, made with: cuihop service keys create.")
    issuer: str | None = Field(None, description="The issuer of tokens: the claim iss. Needs audience and jwks.")
    audience: list[str] = Field([], description="Names of this service; the claim aud must hold one of them.")
    jwks: str | None = Field(None, description="The issuer's public keys: an https:// address, or a file.")
    scope_claim: str = Field("scope", description="The claim with a token's scopes, as in realm_access.roles.")
    token_scopes: dict[str, tuple[str, ...]] = Field(
        {}, description="From values of that claim to scopes, as JSON. Empty: cuihop:read grants read, and so on."
    )
    leeway: Annotated[float, Ge(0)] = Field(30.0, description="Seconds that the issuer's clock may differ.")
    certificate_scopes: list[str] = Field([], description="Scopes of certificates that the callers' authority signed.")
    certificate_callers: dict[str, tuple[str, ...]] = Field(
        {}, description="Scopes by the name in a caller's certificate, as JSON."
    )
    hide_names: bool = Field(False, description="Hide names from every caller: UMLS names are licensed.")
    rate_requests: Positive | None = Field(None, description="Requests per second of one caller.")
    rate_burst: Count | None = Field(None, description="Requests of one caller at once, after a pause.")
    rate_pairs: Count | None = Field(
        None,
        description="Pairs, concepts, sets or texts per minute of one caller. With Redis, replicas count together.",
    )
    audit: str | None = Field(None, description="File that gets one JSON line for each request; - for standard output.")
    audit_concepts: bool = Field(
        False,
        description="Also audit the content of requests, which may be patients' findings; never texts to annotate.",
    )
    cache_entries: Annotated[int, Ge(0)] = Field(
        200_000, description="Distances kept in each worker, for answers by Cypher. 0: none."
    )
    redis: SecretStr | None = Field(
        None, description="Address of a Redis that replicas share, such as redis://:PASSWORD@host:6379/0."
    )
    log_format: Literal["auto", "json", "text"] = Field(
        "auto", description="Format of log lines. auto: text on a terminal, JSON elsewhere."
    )
    log_requests: bool = Field(False, description="Log every request, not only slow ones and errors; never concepts.")
    slow_seconds: Positive = Field(1.0, description="Seconds after which an answer is logged as slow.")
    log_lines: Count = Field(_OF_ADDRESSES.log_lines, description="Log lines per second by callers in one worker.")
    traces: bool = Field(
        False, description="Send traces by OTLP to the address in OTEL_EXPORTER_OTLP_ENDPOINT. Needs the extra traces."
    )
    cypher: bool = Field(
        False, description="Answer curators' read-only Cypher at /v1/cypher, for keys with the scopes cypher and names."
    )
    cypher_user: str | None = Field(None, description="A Neo4j user that may only read, for these queries.")
    cypher_password: SecretStr | None = Field(None, description="The password of that user.")
    cypher_seconds: Positive = Field(10.0, description="Seconds that one such query may take.")
    cypher_rows: Count = Field(1_000, description="Rows that one such query may return.")
    cypher_running: Count = Field(4, description="Such queries at a time, in one worker.")
    limit_pairs: Count = Field(_DEFAULTS.pairs, description="Pairs in one batch.")
    limit_concepts: Count = Field(_DEFAULTS.concepts, description="Concepts in one request.")
    limit_neighbours: Count = Field(_DEFAULTS.neighbours, description="Neighbours in one answer.")
    limit_sets: Count = Field(_DEFAULTS.sets, description="Sets to compare one set with.")
    limit_set_concepts: Count = Field(_DEFAULTS.set_concepts, description="Concepts in one set.")
    limit_comparisons: Count = Field(_DEFAULTS.comparisons, description="Pairs of concepts in one relevance request.")
    limit_hits: Count = Field(_DEFAULTS.hits, description="Hits of one search.")
    limit_pack_concepts: Count = Field(_DEFAULTS.pack_concepts, description="Concepts in one distance pack.")
    limit_hops: Annotated[int, Ge(0)] | None = Field(
        _DEFAULTS.hops, description="The largest bound on hops. If it is set, requests without a bound are refused."
    )
    limit_text: Annotated[int, Ge(64)] = Field(_DEFAULTS.text, description="Characters of a search or an identifier.")
    limit_texts: Count = Field(_DEFAULTS.texts, description="Texts to annotate in one request.")
    limit_text_characters: Count = Field(_DEFAULTS.text_characters, description="Characters of one text to annotate.")
    limit_characters: Count = Field(_DEFAULTS.characters, description="Characters of all texts in one request.")
    limit_mentions: Count = Field(_DEFAULTS.mentions, description="Mentions in one answer, including candidates.")
    limit_message_bytes: Annotated[int, Ge(1024)] = Field(
        _DEFAULTS.message_bytes, description="Bytes of one request, uncompressed."
    )
    limit_seconds: Positive = Field(_DEFAULTS.seconds, description="Seconds for one answer.")
    limit_running: Count = Field(_DEFAULTS.running, description="Requests that a worker answers at a time.")
    limit_waiting: Annotated[int, Ge(0)] = Field(
        _DEFAULTS.waiting,
        description="Requests that wait for a thread of a worker; more are refused. A large body waits before that, "
        "until its time is over.",
    )
    connections: Annotated[int, Ge(8)] | None = Field(
        None,
        description="Connections at a time, on each port of a worker. Not given: as many as the file descriptors "
        "of the process allow, at most 8192.",
    )
    address_connections: Count = Field(
        _OF_ADDRESSES.address_connections,
        description="Connections of one address on each port of a worker; never more than a quarter of all.",
    )
    heads: Annotated[int, Ge(4)] | None = Field(
        None,
        description="HTTP connections in a worker that have not sent complete headers yet. Not given: half of all.",
    )
    address_heads: Count = Field(
        _OF_ADDRESSES.address_heads, description="The same for one address; never more than a quarter of all."
    )
    failures: Count = Field(
        _OF_ADDRESSES.failures,
        description="Refused credentials in a worker before further ones get status 429; forgotten within 25 seconds.",
    )
    address_failures: Count = Field(
        _OF_ADDRESSES.address_failures, description="The same for one address; forgotten within 25 seconds."
    )
    address_log_lines: Count = Field(
        _OF_ADDRESSES.address_log_lines, description="Log lines per second about malformed requests of one address."
    )

    @property
    def limits(self) -> Limits:
        """Limits on the size of a request."""
        prefix = "limit_"
        return Limits(
            **{name.removeprefix(prefix): getattr(self, name) for name in type(self).model_fields if prefix in name}
        )

    @property
    def address_limits(self) -> AddressLimits:
        """Bounds for one address, and for all; `InputError` for a proxy that is no address."""
        return AddressLimits(**{field.name: getattr(self, field.name) for field in dataclasses.fields(AddressLimits)})

    @property
    def authenticates(self) -> bool:
        """True for a service that authenticates callers."""
        return bool(self.keys_file or self.issuer or self.certificate_scopes or self.certificate_callers)

    def check_together(self) -> None:
        """Refuse settings that do not go together, and a proxy that is no address, by an `InputError`."""
        of_tokens = {"issuer": self.issuer, "audience": self.audience, "jwks": self.jwks}
        missing = [name for name, value in of_tokens.items() if not value]
        if missing and len(missing) < len(of_tokens):
            raise InputError(
                "tokens need an issuer, an audience and signing keys", column=f"setting {missing[0]}", found="nothing",
                expected="all three, or none",
            )  # fmt: skip
        if (self.cypher_user is None) != (self.cypher_password is None):
            raise InputError("a Neo4j user needs a password", column="setting cypher_user", expected="both, or neither")
        _ = self.address_limits

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Flags, then the environment, then the file."""
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)


_FIRST_OF_GROUP = {
    "Graph": "graph",
    "Network": "host",
    "TLS": "tls_certificate",
    "Callers": "keys_file",
    "Rates and audit": "rate_requests",
    "Cache": "cache_entries",
    "Observation": "log_format",
    "Curators' queries": "cypher",
    "Limits of a request": "limit_pairs",
    "Limits of an address": "connections",
}


def _groups() -> Iterator[tuple[str, tuple[str, ...]]]:
    names = list(ServiceSettings.model_fields)
    bounds = [*map(names.index, _FIRST_OF_GROUP.values()), len(names)]
    for group, (begin, end) in zip(_FIRST_OF_GROUP, pairwise(bounds), strict=True):
        yield group, tuple(names[begin:end])


GROUPS: Mapping[str, tuple[str, ...]] = dict(_groups())
"""Names of the settings by subject, in the order of their fields, as all documentation shows them."""


def read_settings(flags: dict[str, Any], file: Path | None = None) -> ServiceSettings:
    """The settings from flags, environment and file (TOML), or an `InputError` that names the setting."""
    settings, problems = _read(flags, file)
    if settings is None:
        raise problems[0]
    settings.check_together()
    return settings


def setting_problems(flags: dict[str, Any], file: Path | None = None) -> list[InputError]:
    """Everything that `read_settings` refuses, not only the first."""
    try:
        return _read(flags, file)[1]
    except InputError as error:
        return [error]


def misspelt_variables(environment: Mapping[str, str]) -> list[tuple[str, str]]:
    """Variables of the environment that look like a setting's, and are none: each with the setting's own."""
    names = [f"{ENVIRONMENT_PREFIX}{name.upper()}" for name in ServiceSettings.model_fields]
    others = sorted(name for name in environment if name.startswith(ENVIRONMENT_PREFIX) and name not in names)
    return [(name, alike[0]) for name in others if (alike := _meant(name, names, 0.88))]


def _meant(unknown: str, names: Collection[str], cutoff: float = 0.6) -> list[str]:
    """The name that an unknown one may stand for: that of a renamed setting, or one that is spelt alike."""
    return get_close_matches(_RENAMED.get(unknown, unknown), names, 1, cutoff)


def _read(flags: dict[str, Any], file: Path | None) -> tuple[ServiceSettings | None, list[InputError]]:
    class FromFile(ServiceSettings):
        model_config = SettingsConfigDict(toml_file=file)

    try:
        if file is not None and not stat.S_ISREG(file.stat().st_mode):  # the source would skip it
            raise OSError("not a regular file")
        return FromFile(**_as_values(flags)), []
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(
            "the settings cannot be read", file=file, found=reason_of(error), expected="a file in TOML"
        ) from None
    except ValidationError as error:
        in_file = TomlConfigSettingsSource(FromFile)().keys() - flags.keys()
        unknown_first = sorted(error.errors(), key=lambda one: one["type"] == "missing")
        return None, [_problem(one, file, in_file) for one in unknown_first]


def _problem(error: ErrorDetails, file: Path | None, in_file: Set[str]) -> InputError:
    """The error about one setting."""
    name = ".".join(map(str, error["loc"]))
    setting = str(error["loc"][0])
    actual, expected = _rendered(setting, error.get("input")), error["msg"].removeprefix("Input should be ")
    hint = None
    if error["type"] == "missing":
        actual, expected = "nothing", "a value"
        hint = f"Give --{name.replace('_', '-')}, or set {ENVIRONMENT_PREFIX}{name.upper()}."
    elif setting not in ServiceSettings.model_fields:
        actual, expected = "no setting of this name", "one of those that `cuihop serve --help` shows"
        alike = _meant(name, ServiceSettings.model_fields)
        hint = f"Did you mean {alike[0]}?" if alike else None
    return InputError(
        "not as expected", file=file if setting in in_file else None, column=f"setting {name}", found=actual,
        expected=expected, advice=hint,
    )  # fmt: skip


def revealed(secret: SecretStr | None) -> str | None:
    """The text of a secret."""
    return None if secret is None else secret.get_secret_value()


def _rendered(name: str, value: object) -> str:
    kind = ServiceSettings.model_fields[name].annotation if name in ServiceSettings.model_fields else None
    return "a value that is not shown" if SecretStr in get_args(kind) else repr(value)[:100]


def _as_values(flags: Mapping[str, Any]) -> dict[str, Any]:
    """Flags as values: those of settings that are no plain text or number are JSON."""
    values = dict(flags)
    for name, text in flags.items():
        field = ServiceSettings.model_fields.get(name)
        if field is not None and get_origin(field.annotation) is dict and isinstance(text, str):
            try:
                values[name] = json.loads(text)
            except json.JSONDecodeError as error:
                raise InputError(
                    "not JSON", column=f"setting {name}", found=repr(text)[:100], expected=str(error)
                ) from None
    return values
