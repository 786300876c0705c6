"""``cuihop serve``: run the service."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import typer
from pydantic import SecretStr
from pydantic.fields import FieldInfo

from cuihop.cli.output import note
from cuihop_service.settings import ENVIRONMENT_PREFIX, ServiceSettings, read_settings

__all__ = ["serve"]


def _serve(**given: Any) -> None:
    """Answer distances and relevance over HTTP and gRPC.

    A setting is taken from its flag, else from its variable in the environment, else from the file, else it has its
    default.
    """
    from cuihop_service.addresses import Addresses, check_exposure, listening_socket
    from cuihop_service.observe.logs import configure_logs
    from cuihop_service.supervisor import supervise

    file: Path | None = given.pop("config")
    settings = read_settings({name: value for name, value in given.items() if value not in (None, [])}, file)
    configure_logs(settings.log_format, limits=settings.address_limits)
    warning = check_exposure(settings.host, settings.guard.authenticates, settings.tls_certificate is not None)
    if warning is not None:
        note(warning)
    http = listening_socket(settings.host, settings.http_port)

    def announce(addresses: Addresses) -> None:
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        end = "s" if addresses.tls else ""
        note(f"serving http{end}://{host}:{addresses.http_port} and grpc{end}://{host}:{addresses.grpc_port}")
        if settings.explorer:
            own = "localhost" if settings.host in ("0.0.0.0", "::") else host  # noqa: S104 - no address to open
            note(f"to look at the graph, open http{end}://{own}:{addresses.http_port}/")

    code = supervise(settings, http, announce)
    if code:
        raise typer.Exit(code)


def _option(name: str, field: FieldInfo) -> tuple[Any, Any]:
    """The type and the description of a setting's flag."""
    kind: Any = field.annotation
    flag = f"--{name.replace('_', '-')}"
    if kind is bool:
        kind, flag = bool, f"{flag}/--no-{name.replace('_', '-')}"
    if SecretStr in get_args(kind) or get_origin(kind) is dict:
        kind = str
    default: bool | str = False
    if field.default is not None and not field.is_required() and field.default not in ([], {}):
        default = (
            {True: "on", False: "off"}.get(field.default, str(field.default)) if kind is bool else str(field.default)
        )
    optional = kind if kind == list[str] else kind | None
    help_text = f"{field.description} ({ENVIRONMENT_PREFIX}{name.upper()})"
    return optional, typer.Option(flag, help=help_text, show_default=default)


def _with_flags(function: Callable[..., None]) -> Callable[..., None]:
    """The function with one flag for each setting."""
    parameters = []
    for name, field in ServiceSettings.model_fields.items():
        kind, option = _option(name, field)
        default: Any = [] if kind == list[str] else None
        parameters.append(
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option])
        )
    config = Annotated[
        Path | None, typer.Option("--config", envvar=f"{ENVIRONMENT_PREFIX}CONFIG", help="A TOML file of settings.")
    ]
    parameters.append(inspect.Parameter("config", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=config))
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    function.__annotations__ = {p.name: p.annotation for p in parameters}
    return function


serve = _with_flags(_serve)
