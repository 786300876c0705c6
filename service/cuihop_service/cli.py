"""``cuihop serve`` and ``cuihop service check``: run the service, and check before whether it can run."""

from __future__ import annotations

import inspect
import logging
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

import typer

from cuihop.addresses import host_in_url
from cuihop.cli.output import note, print_json
from cuihop.errors import GraphUnavailable
from cuihop_service.settings import ENVIRONMENT_PREFIX, GROUPS, ServiceSettings, misspelt_variables, read_settings

_log = logging.getLogger("cuihop.service")


ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", envvar=f"{ENVIRONMENT_PREFIX}CONFIG", metavar="PATH", help="A TOML file of settings."),
]


def _serve(*, config: ConfigOption = None, **given: Any) -> None:
    """Answer distances and relevance over HTTP and gRPC.

    Each option but --config is a setting, and may also be a variable (--http-port is CUIHOP_HTTP_PORT) or a line in the
    file of --config (http_port = 8080). An option wins over the variable, the variable over the file.
    """
    from cuihop_service.addresses import Addresses, bound_socket, check_exposure
    from cuihop_service.observe.logs import configure_logs
    from cuihop_service.supervisor import supervise

    settings = read_settings(_given(given), config)
    configure_logs(settings.log_format, limits=settings.address_limits)
    warning = check_exposure(settings.host, settings.authenticates, settings.tls_certificate is not None)
    if warning is not None:
        note(warning)
    for name, meant in misspelt_variables(os.environ):
        _log.warning("variable %s: no setting of this name; did you mean %s?", name, meant)
    http = bound_socket(settings.host, settings.http_port)

    def announce(addresses: Addresses) -> None:
        host = host_in_url(settings.host)
        end = "s" if addresses.tls else ""
        note(f"serving http{end}://{host}:{addresses.http_port} and grpc{end}://{host}:{addresses.grpc_port}")
        _warn_without_redis(settings)
        if not addresses.ready:
            note("not ready: no release yet; /health/ready says why")
        elif settings.explorer:
            own = "localhost" if settings.host in ("0.0.0.0", "::") else host  # noqa: S104 - no address to open
            note(f"to look at the graph, open http{end}://{own}:{addresses.http_port}/")

    code = supervise(settings, http, announce)
    if code:
        raise typer.Exit(code)


JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def _check(*, config: ConfigOption = None, json: JsonOption = False, **given: Any) -> None:
    """Check, before a start, that the service can run as it is configured.

    Settings, graph, password, Redis, certificates, keys, folders and ports: one line each, with advice for a failure.
    The exit code is that of the first failure. Options, variables and file are those of `cuihop serve`.
    """
    from cuihop_service.start_check import findings

    results = []
    for finding in findings(_given(given), config):
        results.append(finding)
        if not json:
            typer.echo(f"{finding.state:<7}  {finding.part}: {finding.text}")
    code = next((finding.exit_code for finding in results if finding.exit_code), 0)
    if json:
        print_json({"exit_code": code, "checks": [asdict(finding) for finding in results]})
    else:
        counts = Counter[str](finding.state for finding in results)
        words = {"ok": "ok", "warning": "with a warning", "failed": "failed"}
        summary = ", ".join(f"{counts[state]} {word}" for state, word in words.items() if state in counts)
        typer.echo(f"{'not ready' if code else 'ready to start'}: {summary}")
    raise typer.Exit(code)


def _given(flags: dict[str, Any]) -> dict[str, Any]:
    """The flags that were given."""
    return {name: value for name, value in flags.items() if value not in (None, [])}


def _warn_without_redis(settings: ServiceSettings) -> None:
    """Log at the start that Redis does not answer. The service works without it."""
    if settings.redis is None:
        return
    from cuihop_service.cache.redis_cache import check_redis

    try:
        check_redis(settings.redis.get_secret_value())
    except GraphUnavailable as error:
        _log.warning("%s. Until then each process counts and caches alone.", error)


_KINDS: dict[Any, tuple[Any, str]] = {bool: (bool, ""), int: (int, "N"), float: (float, "N"), Path: (Path, "PATH")}
"""Types of settings that are types of flags, with their metavars. Others are given as text."""


def _option(name: str, group: str, hidden: bool) -> tuple[Any, Any]:
    """The type and the description of a setting's flag."""
    field = ServiceSettings.model_fields[name]
    flag = f"--{name.replace('_', '-')}"
    default = "" if field.is_required() or field.default in (None, [], {}) else f" Default: {field.default}."
    kind: Any
    metavar: str | None
    if get_origin(field.annotation) is Literal:
        kind, metavar = field.annotation, None
    elif field.annotation == list[str]:
        kind, metavar = field.annotation, "TEXT"
    elif get_origin(field.annotation) is dict:
        kind, metavar = str, "JSON"
    else:
        kind, metavar = _KINDS.get(_without_bounds(field.annotation), (str, "TEXT"))
    if kind is bool:
        flag, default = f"{flag}/--no-{name.replace('_', '-')}" if field.default else flag, ""
    names = [flag]
    if name == "graph":  # as in every command
        names, metavar = [flag, "-g"], "GRAPH"
    option = typer.Option(
        *names, help=f"{field.description}{default}", show_default=False, metavar=metavar, rich_help_panel=group,
        hidden=hidden,
    )  # fmt: skip
    return kind if kind == list[str] else kind | None, option


def _without_bounds(annotation: Any) -> Any:
    """The bare type of ``Annotated[int, …] | None`` and the like. The settings themselves check the bounds."""
    kind = next((one for one in get_args(annotation) if one is not NoneType), annotation)
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def _with_flags(function: Callable[..., None], *, hidden: bool = False) -> Callable[..., None]:
    """The function with one flag for each setting, after its own; ``hidden`` leaves the flags out of its help."""
    parameters = [
        parameter
        for parameter in inspect.signature(function, eval_str=True).parameters.values()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    ]
    for group, names in GROUPS.items():
        for name in names:
            kind, option = _option(name, group, hidden)
            default: Any = [] if kind == list[str] else None
            annotation: Any = Annotated[kind, option]
            parameters.append(
                inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            )
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    function.__annotations__ = {p.name: p.annotation for p in parameters}
    return function


serve = _with_flags(_serve)
check = _with_flags(_check, hidden=True)
