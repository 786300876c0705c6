"""docker-compose.yml: valid for the client where there is one, and safe as it stands."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from cuihop_tools.neo4j_server import VERSION

FILE = Path(__file__).resolve().parents[2] / "docker-compose.yml"


def compose(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if name != "NEO4J_PASSWORD"}
    command = ["docker", "compose", "--file", str(FILE), *arguments]
    return subprocess.run(command, env={**inherited, **environment}, capture_output=True, text=True, check=False)


if shutil.which("docker") is not None and compose("version").returncode == 0:  # not every machine has the client

    def test_the_compose_client_accepts_the_file_and_demands_a_password() -> None:
        assert compose("config", "--quiet", NEO4J_PASSWORD="long-enough").returncode == 0  # noqa: S106
        refused = compose("config", "--quiet")
        assert refused.returncode
        assert "set NEO4J_PASSWORD" in refused.stderr


def test_the_server_is_the_pinned_line_on_this_machine_only_with_a_password_of_the_users() -> None:
    text = FILE.read_text(encoding="utf-8")
    line = ".".join(VERSION.split(".")[:2])
    assert f"image: neo4j:{line}-community" in text
    assert text.split("services:\n")[1].split("  redis:")[0].count('- "127.0.0.1:') == 2
    assert "${NEO4J_PASSWORD:?set NEO4J_PASSWORD to 8 letters" in text
    assert "none" not in text.split("NEO4J_AUTH:")[1].splitlines()[0]
    assert 'NEO4J_server_jvm_additional: "-XX:+ExitOnOutOfMemoryError"' in text
    assert 'NEO4J_server_bolt_connection__keep__alive: "1s"' in text
    assert 'NEO4J_server_bolt_connection__keep__alive__probes: "3"' in text
    assert "healthcheck:" in text
    assert "neo4j-data:/data" in text


def schema_check(file: Path) -> subprocess.CompletedProcess[str]:
    """Compare with the schema of the Compose specification, which the checker brings along: no engine is needed."""
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_file_is_what_the_compose_specification_allows(tmp_path: Path) -> None:
    done = schema_check(FILE)
    assert done.returncode == 0, done.stdout + done.stderr
    broken = tmp_path / "docker-compose.yml"
    broken.write_text(FILE.read_text(encoding="utf-8").replace("start_period: 60s", "start_perios: 60s"))
    assert schema_check(broken).returncode == 1
