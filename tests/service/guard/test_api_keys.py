"""API keys: their commands, their file, and what a running service makes of a change."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuihop.cli.application import application
from cuihop.errors import InputError, NotAuthenticated, OutputError
from cuihop_service.callers import Rate
from cuihop_service.guard.api_keys import ApiKey, new_key, parts_of
from cuihop_service.guard.key_file import KeyFile, changed_keys, read_keys

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def created_key(path: Path, name: str = "atlas", *scopes: str, **options: object) -> str:
    text, key = new_key(name, scopes or ("read",), now=datetime.now(UTC), **options)  # type: ignore[arg-type]
    with changed_keys(path) as keys:
        keys.append(key)
    return text


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "keys.json"
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []  # nothing half-written is left


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[str, str]:
    application()(["service", "keys", *arguments], standalone_mode=False)
    expected_error = capsys.readouterr()
    return expected_error.out, expected_error.err


def test_a_key_of_the_longest_life() -> None:
    for days in (36_500, 1e-9):
        assert new_key("x", ["read"], now=NOW, days=days)[1].expires is not None
    assert new_key("x", ["read"], now=NOW, days=36_500)[1].expires == NOW + timedelta(days=36_500)
    for days in (36_500.001, 36_501, 0, -1, float("nan")):
        with pytest.raises(InputError, match="expire"):
            new_key("x", ["read"], now=NOW, days=days)


def test_a_key_is_printed_once_and_only_its_hash_is_kept(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = run(capsys, "create", "atlas", "--scope", "read", "--scope", "names", "--keys-file", str(file))
    key = out.strip()
    assert re.fullmatch(r"cuihop_[0-9a-z]{10}_[0-9A-Za-z]{49}", key)
    secret = key.rpartition("_")[2]
    assert secret not in file.read_text()
    assert secret not in err
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    listed, _ = run(capsys, "list", "--keys-file", str(file))
    assert "atlas" in listed
    assert secret not in listed
    caller = KeyFile(file).caller(key)
    assert caller.name == "atlas"
    assert caller.scopes == {"read", "names"}


def test_the_secret_has_256_random_bits(file: Path) -> None:
    secrets = {new_key("x", ["read"], now=NOW)[0].rpartition("_")[2][:43] for _ in range(200)}
    assert len(secrets) == 200
    letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    numbers = [sum(letters.index(c) * 62**i for i, c in enumerate(reversed(secret))) for secret in secrets]
    assert all(number < 2**256 for number in numbers)
    for bit in range(256):  # 200 fair coins all alike: once in 10**60
        assert 0 < sum(number >> bit & 1 for number in numbers) < 200


@given(st.integers(0, 67), st.sampled_from("0Aaz_-é "))
def test_every_typing_error_in_a_key_is_found(place: int, letter: str) -> None:
    text, _ = new_key("x", ["read"], now=NOW)
    place %= len(text)
    wrong = text[:place] + letter + text[place + 1 :]
    if wrong != text:
        with pytest.raises(NotAuthenticated, match="mistyped"):
            parts_of(wrong)
    with pytest.raises(NotAuthenticated):
        parts_of(text[:-1])


@given(
    name=st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}", fullmatch=True),
    scopes=st.sets(st.sampled_from(["read", "names", "cypher", "metrics"]), min_size=1),
    days=st.none() | st.floats(0.01, 36_500),
    rate=st.none() | st.builds(Rate, st.floats(0.1, 1e6), st.none() | st.integers(1, 1000), st.integers(1, 10**9)),
)
def test_what_is_written_of_a_key_is_read_again(
    name: str, scopes: set[str], days: float | None, rate: Rate | None
) -> None:
    text, key = new_key(name, scopes, now=NOW, days=days, rate=rate)
    again = ApiKey.of(json.loads(json.dumps(key.fields())))
    assert again.matches(parts_of(text)[1])
    assert again.caller() == key.caller()
    assert again.expires is None if days is None else abs(again.expires - key.expires) < timedelta(seconds=1)  # type: ignore[operator]


def test_a_running_service_sees_new_changed_and_revoked_keys(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = created_key(file)
    clock = Clock()
    keys = KeyFile(file, clock)
    second = created_key(file, "second", "names")
    with pytest.raises(NotAuthenticated):
        keys.caller(second)
    clock.now += 1.1
    assert keys.caller(second).scopes == {"names"}
    run(capsys, "revoke", "atlas", "--keys-file", str(file))
    clock.now += 1.1
    with pytest.raises(NotAuthenticated, match="revoked"):
        keys.caller(first)
    assert keys.caller(second).name == "second"


def test_a_broken_file_keeps_the_keys_and_says_so(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    text = created_key(file)
    whole = file.read_bytes()
    clock = Clock()
    keys = KeyFile(file, clock)
    for broken in (whole[:50], b"", b"\xff", b'{"version": 2, "keys": []}', b"[" * 200_000):
        file.write_bytes(broken)
        clock.now += 1.1
        assert keys.caller(text).name == "atlas"
        assert keys.trouble
        assert "the keys stay as they were" in caplog.text
        caplog.clear()
    file.unlink()
    clock.now += 1.1
    assert keys.caller(text).name == "atlas"
    file.write_bytes(whole)
    file.chmod(0o604)
    clock.now += 1.1
    assert keys.caller(text).name == "atlas"
    assert "chmod 600" in keys.trouble
    file.chmod(0o600)
    clock.now += 1.1
    assert keys.caller(text).name == "atlas"
    assert not keys.trouble


def test_an_expired_key_opens_nothing(file: Path) -> None:
    text = created_key(file, "brief", days=1e-9)
    with pytest.raises(NotAuthenticated, match="expired"):
        KeyFile(file).caller(text)


def test_a_key_of_another_file_and_one_with_another_secret_open_nothing(file: Path, tmp_path: Path) -> None:
    text = created_key(file)
    other = created_key(tmp_path / "other.json")
    keys = KeyFile(file)
    with pytest.raises(NotAuthenticated):
        keys.caller(other)
    stored = read_keys(file)[0]
    with changed_keys(file) as entries_in_file:
        entries_in_file[0] = ApiKey(stored.id, "atlas", bytes(32), stored.scopes, stored.created)
    with pytest.raises(NotAuthenticated, match="not known"):
        KeyFile(file).caller(text)


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o666, 0o602, 0o620, 0o601])
def test_a_file_that_others_can_read_or_write_is_refused(file: Path, mode: int) -> None:
    created_key(file)
    file.chmod(mode)
    with pytest.raises(InputError, match="open to others"):
        KeyFile(file)


def test_a_group_may_read_for_that_is_how_kubernetes_mounts_secrets(file: Path) -> None:
    text = created_key(file)
    file.chmod(0o440)
    assert KeyFile(file).caller(text).name == "atlas"


@pytest.mark.parametrize(
    ("fields", "expected_error"),
    [
        ({"id": "short"}, "identifier"),
        ({"id": 7}, "identifier"),
        ({"sha256": "00"}, "SHA-256"),
        ({"scopes": ["root"]}, "scopes"),
        ({"scopes": []}, "scopes"),
        ({"scopes": "read"}, "scopes"),
        ({"name": "a:b"}, "name"),
        ({"created": "yesterday"}, "date"),
        ({"expires": "2026-01-01"}, "date"),
        ({"rate": {"requests": -1}}, "rate"),
        ({"rate": {"requests": "7"}}, "rate"),
        ({"rate": {"pairs": 1.5}}, "rate"),
        ({"rate": [1]}, "rate"),
        ({"colour": 1}, "unknown"),
    ],
)
def test_a_wrong_entry_is_named(file: Path, fields: dict[str, object], expected_error: str) -> None:
    created_key(file)
    content = json.loads(file.read_text())
    content["keys"][0] |= fields
    file.write_text(json.dumps(content))
    with pytest.raises(InputError, match=expected_error) as raised:
        read_keys(file)
    assert "key 1" in str(raised.value)


def test_names_are_taken_once_and_free_again_after_revocation(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "create", "atlas", "--keys-file", str(file))
    with pytest.raises(InputError, match="already"):
        run(capsys, "create", "atlas", "--keys-file", str(file))
    run(capsys, "revoke", "atlas", "--keys-file", str(file))
    with pytest.raises(InputError, match="no such key"):
        run(capsys, "revoke", "atlas", "--keys-file", str(file))
    run(
        capsys,
        "create",
        "atlas",
        "--keys-file",
        str(file),
        "--requests-per-second",
        "5",
        "--burst",
        "10",
        "--pairs-per-minute",
        "1000",
    )
    assert read_keys(file)[1].rate == Rate(5, 10, 1000)
    states = json.loads(run(capsys, "list", "--keys-file", str(file), "--json")[0])["keys"]
    assert [key["state"] for key in states] == ["revoked", "active"]
    assert "sha256" not in states[0]


@pytest.mark.parametrize(
    "arguments",
    [("a b",), ("",), ("x", "--scope", "root"), ("x", "--expires", "0"), ("x", "--expires", "nan"),
     ("x", "--requests-per-second", "0"), ("x", "--pairs-per-minute", "-1"), ("x", "--requests-per-second", "nan")],
)  # fmt: skip
def test_impossible_keys_are_refused_and_nothing_is_written(
    file: Path, arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InputError):
        run(capsys, "create", *arguments, "--keys-file", str(file))
    assert not file.exists()


def test_a_failed_change_leaves_the_file_as_it_was(file: Path) -> None:
    created_key(file)
    before = file.read_bytes()
    with pytest.raises(ZeroDivisionError), changed_keys(file) as keys:
        keys[:] = [keys[0] for _ in range(1 // 0)]
    assert file.read_bytes() == before


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="nowhere"), changed_keys(tmp_path / "nowhere" / "keys.json"):
        pass


def test_a_full_disk_leaves_the_keys_as_they_were(file: Path) -> None:
    created_key(file)
    before = file.read_bytes()
    script = (
        "import resource, sys, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)); from cuihop.cli import main;"
        "sys.argv = ['cuihop', 'service', 'keys', 'create', 'other', '--keys-file', sys.argv[1]]; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(file)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.returncode == 6, done.stderr
    assert done.stdout == ""  # a key that is not stored is not shown
    assert file.read_bytes() == before


@pytest.mark.slow
def test_keys_made_at_the_same_time_are_all_kept(file: Path) -> None:
    command = [sys.executable, "-m", "cuihop", "service", "keys", "create"]
    running = [
        subprocess.Popen([*command, f"k{i}", "--keys-file", str(file)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for i in range(4)
    ]
    printed = [process.communicate()[0].decode().strip() for process in running]
    keys = KeyFile(file)
    assert sorted(keys.caller(text).name for text in printed) == ["k0", "k1", "k2", "k3"]
