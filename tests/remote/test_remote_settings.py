"""Settings of a connection: address, key, certificates, and their refusal."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuihop.addresses import is_remote_address
from cuihop.errors import InputError
from cuihop.remote.settings import RemoteSettings

KEY = "chk_0123456789abcdef"


def test_the_scheme_marks_the_address_of_a_service() -> None:
    for address in ("grpc://h:1", "GRPC://h", "grpcs://h", "http://h:8080", "https://h/cuihop"):
        assert is_remote_address(address)
    for address in ("graph.cuihop", "grpc.cuihop", "bolt://h", "http:/x", "snapshot:http"):
        assert not is_remote_address(address)


@pytest.mark.parametrize(
    ("address", "host", "port", "path", "encrypted", "loopback"),
    [
        ("grpc://graph.example", "graph.example", 50051, "", False, False),
        ("grpcs://graph.example:443", "graph.example", 443, "", True, False),
        ("http://localhost:8080/", "localhost", 8080, "", False, True),
        ("https://graph.example/cuihop/", "graph.example", 443, "/cuihop", True, False),
        ("http://[::1]:8080", "::1", 8080, "", False, True),
        ("http://127.9.9.9", "127.9.9.9", 80, "", False, True),
        ("HTTP://LocalHost", "localhost", 80, "", False, True),
        ("grpc://localhost.example", "localhost.example", 50051, "", False, False),
    ],
)
def test_parts_of_an_address(
    address: str, host: str, port: int, path: str, encrypted: bool, loopback: bool
) -> None:  # fmt: skip
    s = RemoteSettings(address)
    assert (s.host, s.port, s.path, s.encrypted, s.loopback) == (host, port, path, encrypted, loopback)


@pytest.mark.parametrize(
    "address",
    [
        "grpc://", "grpc://h:port", "grpc://h:70000", "http://h:0", "grpc://[::1", "grpc://h/path", "ftp://h",
        "http://h/?key=hidden", "http://h/#hidden",
    ],
)  # fmt: skip
def test_an_invalid_address_is_refused(address: str) -> None:
    with pytest.raises(InputError) as caught:
        RemoteSettings(address)
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize("address", ["https://user:hidden@h", "grpc://hidden@h:1"])
def test_an_address_with_a_password_is_refused_unseen(address: str) -> None:
    with pytest.raises(InputError, match="CUIHOP_API_KEY") as caught:
        RemoteSettings(address)
    assert "hidden" not in str(caught.value)


def test_settings_from_the_environment(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(f"{KEY}\n")
    environment = {
        "CUIHOP_API_KEY_FILE": str(tmp_path / "key"),
        "CUIHOP_CA_FILE": "ca.pem",
        "CUIHOP_CLIENT_CERT": "me.pem",
        "CUIHOP_CLIENT_KEY": "me.key",
        "CUIHOP_TIMEOUT": "2.5",
        "CUIHOP_RETRY_TIME": "0",
        "CUIHOP_CONNECT_TIMEOUT": "",
    }
    s = RemoteSettings.from_environment("https://h", environment)
    assert (s.key, s.ca_file, s.client_cert, s.client_key) == (KEY, Path("ca.pem"), Path("me.pem"), Path("me.key"))
    assert (s.timeout, s.retry_time, s.connect_timeout) == (2.5, 0.0, 5.0)
    assert RemoteSettings.from_environment("https://h", environment | {"CUIHOP_API_KEY": "direct"}).key == "direct"
    assert RemoteSettings.from_environment("https://h", environment, timeout=9.0).timeout == 9.0
    assert RemoteSettings.from_environment("https://h", {}).key is None


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("CUIHOP_TIMEOUT", "soon", "CUIHOP_TIMEOUT"),
        ("CUIHOP_TIMEOUT", "0", "timeout"),
        ("CUIHOP_TIMEOUT", "nan", "timeout"),
        ("CUIHOP_RETRY_TIME", "-1", "retry_time"),
        ("CUIHOP_INSECURE_KEY", "perhaps", "CUIHOP_INSECURE_KEY"),
        ("CUIHOP_CLIENT_CERT", "me.pem", "go together"),
        ("CUIHOP_CLIENT_KEY", "me.key", "go together"),
        ("CUIHOP_API_KEY_FILE", "absent", "cannot be read"),
    ],
)
def test_an_invalid_value_is_refused(variable: str, value: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        RemoteSettings.from_environment("https://h", {variable: value})


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "ključ", "nul\0"])
def test_a_key_that_no_header_can_hold_is_refused_unseen(key: str) -> None:
    with pytest.raises(InputError, match="the key cannot be one") as caught:
        RemoteSettings("https://h", key=key)
    assert key not in str(caught.value)


def test_a_key_file_without_ascii_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "key"
    for content, says in ((b"", "empty"), (b"\xff\xfe", "ASCII")):
        file.write_bytes(content)
        with pytest.raises(InputError, match=says):
            RemoteSettings.from_environment("https://h", {"CUIHOP_API_KEY_FILE": str(file)})


def test_a_key_does_not_travel_unencrypted_to_another_machine() -> None:
    for address in ("http://graph.example", "grpc://graph.example", "grpc://10.0.0.1:1"):
        with pytest.raises(InputError, match="unencrypted") as caught:
            RemoteSettings(address, key=KEY)
        assert KEY not in str(caught.value)
        assert RemoteSettings.from_environment(address, {"CUIHOP_API_KEY": KEY, "CUIHOP_INSECURE_KEY": "1"}).key == KEY
        assert RemoteSettings(address).key is None
    for address in ("https://graph.example", "grpcs://graph.example", "http://localhost", "grpc://127.0.0.1:1"):
        assert RemoteSettings(address, key=KEY).key == KEY


def test_a_key_is_not_shown() -> None:
    settings = RemoteSettings("https://h", key=KEY)
    assert KEY not in repr(settings)
    assert KEY not in str(settings)
