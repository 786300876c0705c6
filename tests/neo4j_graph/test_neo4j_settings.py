"""Sources of user and password."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cuihop.addresses import is_neo4j_address
from cuihop.errors import InputError
from cuihop.neo4j_graph.connection import Neo4jSettings


def test_the_scheme_marks_the_address_of_a_server() -> None:
    for address in ("bolt://h:7687", "neo4j://h", "neo4j+s://h", "BOLT://h"):
        assert is_neo4j_address(address)
    for address in ("graph.cuihop", "bolt.cuihop", "http://h", "neo4j:/x"):
        assert not is_neo4j_address(address)


def test_user_password_and_database_come_from_the_environment(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("from a file\n")
    file = {"NEO4J_PASSWORD_FILE": str(tmp_path / "password"), "NEO4J_USER": "reader", "NEO4J_DATABASE": "graph"}
    settings = Neo4jSettings.from_environment("bolt://h", file)
    assert (settings.user, settings.password, settings.database) == ("reader", "from a file", "graph")
    settings = Neo4jSettings.from_environment("bolt://h", {**file, "NEO4J_PASSWORD": "direct"})
    assert settings.password == "direct"  # noqa: S105
    with pytest.raises(InputError, match="no password"):
        Neo4jSettings.from_environment("bolt://h", {})
    with pytest.raises(InputError, match="cannot be read"):
        Neo4jSettings.from_environment("bolt://h", {"NEO4J_PASSWORD_FILE": str(tmp_path / "absent")})


def test_an_address_of_another_kind_is_refused() -> None:
    with pytest.raises(InputError, match="not the address of a Neo4j server"):
        Neo4jSettings("http://h:7474")


@pytest.mark.parametrize(
    "code",
    [
        "import cuihop; cuihop.connect('bolt://127.0.0.1:1')",
        "import cuihop.neo4j_graph.graph",
        "from cuihop.cli import main; "
        "sys.argv[1:] = ['neo4j', 'query', 'RETURN 1', '-g', 'bolt://127.0.0.1:1']; main()",
    ],
)
def test_without_the_driver_the_error_names_the_extra(code: str) -> None:
    program = f"import sys; sys.modules['neo4j'] = None; {code}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == (8 if "main" in code else 1)
    assert "pip install 'cuihop[neo4j]'" in done.stderr
