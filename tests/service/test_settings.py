"""Each setting by flag, by environment, by file; in this order; and documented."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cuihop.cli.application import application
from cuihop.errors import InputError
from cuihop_service.limits import Limits
from cuihop_service.settings import ENVIRONMENT_PREFIX, GROUPS, ServiceSettings, read_settings
from shared_data import ROOT

NAMES = list(ServiceSettings.model_fields)


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(ENVIRONMENT_PREFIX + name.upper(), raising=False)


def test_a_flag_wins_over_the_environment_and_that_over_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "cuihop.toml"
    file.write_text('graph = "file.cuihop"\nhttp_port = 1\ngrpc_port = 1\nworkers = 3\n')
    monkeypatch.setenv("CUIHOP_HTTP_PORT", "2")
    monkeypatch.setenv("CUIHOP_GRPC_PORT", "2")
    found = read_settings({"grpc_port": 3}, file)
    assert (found.graph, found.http_port, found.grpc_port, found.workers) == ("file.cuihop", 2, 3, 3)
    assert found.host == "127.0.0.1"
    assert read_settings({"graph": "x"}).workers == 1  # the file is forgotten


def test_limits_are_settings() -> None:
    assert read_settings({"graph": "x"}).limits == Limits()
    changed = read_settings({"graph": "x", "limit_pairs": 7, "limit_seconds": 0.5}).limits
    assert (changed.pairs, changed.seconds) == (7, 0.5)


@pytest.mark.parametrize(
    ("flags", "column", "found", "expected"),
    [
        ({}, "graph", "nothing", "a value"),
        ({"graph": "x", "http_port": 70_000}, "http_port", "70000", "65535"),
        ({"graph": "x", "workers": 0}, "workers", "0", "greater than or equal to 1"),
        ({"graph": "x", "index": "maybe"}, "index", "'maybe'", "'on' or 'off'"),
    ],
)
def test_a_setting_at_fault_is_named(flags: dict[str, Any], column: str, found: str, expected: str) -> None:
    with pytest.raises(InputError) as raised:
        read_settings(flags)
    assert (raised.value.column, raised.value.found) == (column, found)
    assert expected in (raised.value.expected or "")


def test_messages_name_a_setting_as_the_file_does() -> None:
    sources = "".join(path.read_text() for path in ROOT.joinpath("service").rglob("*.py"))
    named = set(re.findall(r'"setting ([\w-]+)"', sources))
    assert {"cypher_user", "http_port", "tls_certificate"} <= named <= set(ServiceSettings.model_fields)


def test_a_file_at_fault_is_named(tmp_path: Path) -> None:
    file = tmp_path / "cuihop.toml"
    for text, expected in (
        ("graph = x", "line 1, column 9"),
        ('graph = "x"\nport = 1', "setting port"),
        ('graph = "x"\nhtpp_port = 1', "found no setting of this name; expected one of those"),
        ('graph = "x"\nhtpp_port = 1', "Did you mean http_port?"),
        ('store = "x"', "found no setting of this name; expected one of those"),
        ('store = "x"', "Did you mean graph?"),
        ('graph = "x"\nworkers = "many"', "setting workers"),
    ):
        file.write_text(text)
        with pytest.raises(InputError, match=re.escape(str(file))) as refused:
            read_settings({}, file)
        assert expected in str(refused.value)
    with pytest.raises(InputError, match="No such file"):
        read_settings({}, tmp_path / "none")


def test_secrets_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUIHOP_REDIS", "redis://:hidden@localhost")
    settings = read_settings({"graph": "x"})
    assert "hidden" not in repr(settings)
    assert settings.redis is not None
    assert settings.redis.get_secret_value() == "redis://:hidden@localhost"


def test_every_setting_has_its_flag_in_the_help_which_80_columns_can_hold() -> None:
    help_text = CliRunner(env={"COLUMNS": "80"}).invoke(application(), ["serve", "--help"]).output
    for name in NAMES:
        assert f" --{name.replace('_', '-')} " in help_text, name
    for group in GROUPS:
        assert f"─ {group} ─" in help_text
    assert "…" not in help_text
    assert "typing" not in help_text
    assert "--http-port is CUIHOP_HTTP_PORT" in " ".join(help_text.split())
    assert len(help_text.splitlines()) < 210
    assert max(map(len, help_text.splitlines())) <= 80


def test_every_setting_is_described_and_in_one_group() -> None:
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(NAMES)
    assert all(field.description for field in ServiceSettings.model_fields.values())


def test_a_flag_of_each_type_is_read() -> None:
    flags = ("--graph", "x", "--workers", "3", "--watch-seconds", "0.5", "--no-explorer", "--log-requests", "--index",
             "off", "--tls-key", "k.pem", "--token-scopes", '{"x": ["read"]}', "--audience", "a")  # fmt: skip
    done = CliRunner().invoke(application(), ["service", "check", "--json", *flags])
    checks = {check["part"]: check for check in json.loads(done.output)["checks"]}
    assert checks["settings"]["text"].startswith("setting issuer: tokens need an issuer")
    refused = CliRunner().invoke(application(), ["service", "check", "--workers", "many"])
    assert refused.exit_code == 2


def test_the_settings_file_of_a_department_has_every_setting_and_is_accepted(tmp_path: Path) -> None:
    made = tmp_path / "made.toml"
    subprocess.run([sys.executable, str(ROOT / "docs" / "site" / "settings_file.py"), str(made)], check=True)
    text = (ROOT / "deploy" / "cuihop.toml").read_text()
    assert text == made.read_text(), "renew it: .venv/bin/python docs/site/settings_file.py"
    assert re.findall(r"^(?:# )?(\w+) = ", text, re.MULTILINE) == [name for names in GROUPS.values() for name in names]
    assert "None" not in text
    settings = read_settings({}, ROOT / "deploy" / "cuihop.toml")
    assert settings.authenticates
    everything = tmp_path / "everything.toml"
    everything.write_text(re.sub(r"^# (?=\w+ = )", "", text, flags=re.MULTILINE))
    active = set(re.findall(r"^(\w+) = ", text, re.MULTILINE))
    read = read_settings({}, everything)
    assert read.issuer == "https://id.example.org"
    for name, field in ServiceSettings.model_fields.items():
        if name not in active and field.default not in (None, []):
            assert getattr(read, name) == field.default, name
