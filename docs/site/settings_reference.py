"""The settings of the service, from their declaration."""

from __future__ import annotations

from pydantic_core import PydanticUndefined

from cuihop_service.settings import ENVIRONMENT_PREFIX, ServiceSettings
from markdown_cells import cell, table

__all__ = ["settings_reference"]


def settings_reference() -> str:
    """One row a setting. Its names stand one below the other: a page is not wide."""
    rows = []
    for name, field in ServiceSettings.model_fields.items():
        default = "" if field.default in (None, [], {}, PydanticUndefined) else f"`{_written(field.default)}`"
        flag = "`--" + name.replace("_", "-") + "`"
        variable = f"`{ENVIRONMENT_PREFIX}{name.upper()}`"
        rows.append((f"`{name}`<br>{flag}<br>{variable}", default, cell(field.description or "")))
    return table(("setting, flag, variable", "default", ""), rows)


def _written(default: object) -> str:
    """As in the settings file."""
    return str(default).lower() if isinstance(default, bool) else str(default)
