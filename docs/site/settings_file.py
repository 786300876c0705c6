"""``deploy/cuihop.toml``, from the declaration of the settings: ``.venv/bin/python docs/site/settings_file.py``."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import Any

from cuihop_service.settings import GROUPS, ServiceSettings

__all__ = ["FILE", "settings_file"]

FILE = Path(__file__).parents[2] / "deploy" / "cuihop.toml"

_WIDTH = 118

_DEPARTMENT: dict[str, Any] = {
    "graph": "bolt://localhost:7687",
    "index_folder": "/var/cache/cuihop/index",
    "host": "0.0.0.0",  # noqa: S104 - with TLS and keys
    "workers": 2,
    "tls_certificate": "/etc/cuihop/service.pem",
    "tls_key": "/etc/cuihop/service.key",
    "keys_file": "/etc/cuihop/keys.json",
    "rate_requests": 50,
    "rate_burst": 200,
    "rate_pairs": 1_000_000,
    "audit": "/var/log/cuihop/audit.jsonl",
}
"""The settings of docs/department.md. All others stand as comments, with their defaults."""

_EXAMPLES: dict[str, Any] = {
    "information_content_counts": "/var/lib/cuihop/counts.csv",
    "tls_client_ca": "/etc/cuihop/callers.pem",
    "redis": "redis://:PASSWORD@localhost:6379/0",
    "issuer": "https://id.example.org",
    "jwks": "https://id.example.org/jwks.json",
    "audience": ["cuihop"],
    "cypher_user": "reader",
    "cypher_password": "PASSWORD",
    "connections": 1024,
    "heads": 512,
    "limit_hops": 30,
}
"""Values of settings without a default."""

_HEAD = """\
# Settings of the service of a department: docs/department.md. Every setting is here. A line that begins with `# ` and a
# name shows its default, or after "Not set." an example. Secrets are better in the environment: CUIHOP_REDIS,
# CUIHOP_CYPHER_PASSWORD, and for Neo4j NEO4J_PASSWORD_FILE.
"""


def settings_file() -> str:
    """The text of the file."""
    parts = [_HEAD]
    for group, names in GROUPS.items():
        parts.append(f"\n\n# {group}\n")
        parts += map(_setting, names)
    return "".join(parts)


def _setting(name: str) -> str:
    """The meaning of a setting as a comment, and its line."""
    field = ServiceSettings.model_fields[name]
    meaning = field.description or ""
    if name in _EXAMPLES:
        meaning += " Not set."
    text = "".join(f"#   {line}\n" for line in textwrap.wrap(meaning, _WIDTH - 4))
    if name in _DEPARTMENT:
        return f"\n{text}{name} = {_toml(_DEPARTMENT[name])}\n"
    return f"\n{text}# {name} = {_toml(_EXAMPLES.get(name, field.default))}\n"


def _toml(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return str(value)
        case list():
            return f"[{', '.join(map(_toml, value))}]"
        case dict():
            return "{}"
        case None:
            raise ValueError("TOML has no value for nothing: add an example to _EXAMPLES")
        case _:
            return f'"{value}"'


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else FILE
    target.write_text(settings_file(), encoding="utf-8")
