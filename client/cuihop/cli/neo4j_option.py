"""The option of the commands on a Neo4j database: its server."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["ServerOption"]

ServerOption = Annotated[
    str,
    typer.Option(
        "--server",
        "-s",
        envvar="CUIHOP_NEO4J",
        help="The Neo4j server, such as bolt://localhost:7687. User and password: NEO4J_USER, and NEO4J_PASSWORD or "
        "NEO4J_PASSWORD_FILE.",
        show_default=False,
    ),
]
