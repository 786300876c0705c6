"""The server without Docker: what it says when it cannot be had or does not start."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from zipfile import ZipFile

import pytest

from cuihop.errors import GraphUnavailable
from cuihop_tools import neo4j_server
from cuihop_tools.neo4j_server import LocalServer, ServerToolsMissing, free_ports, main, missing_tools, server_jars
from neo4j_server import new_server


def test_missing_tools_are_named_in_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CUIHOP_NEO4J_HOME", str(tmp_path))
    message = missing_tools()
    assert message is not None
    assert "java" in message
    assert "mvn" in message
    assert "\n" not in message
    with pytest.raises(ServerToolsMissing, match="java"):
        server_jars()


def test_a_server_that_does_not_start_shows_its_log(tmp_path_factory: pytest.TempPathFactory) -> None:
    server = new_server(tmp_path_factory)
    conf = server.home / "conf" / "neo4j.conf"
    conf.write_text(conf.read_text() + "server.memory.pagecache.size=much\n")
    started_before = server.home / "data" / "dbms" / "auth.ini"
    started_before.parent.mkdir(parents=True)
    started_before.touch()
    with pytest.raises(GraphUnavailable, match=r"ended while starting:\n--- console.log(.|\n)*pagecache"):
        server.start(patience=60)
    assert server.pid is None


def test_java_checks_no_signature_of_a_jar_when_the_server_starts(tmp_path_factory: pytest.TempPathFactory) -> None:
    command = new_server(tmp_path_factory)._java("1g", "Main")
    for jar in command[command.index("-cp") + 1].split(os.pathsep):
        with ZipFile(jar) as content:
            assert not [name for name in content.namelist() if name.startswith("META-INF/") and name.endswith(".SF")]


def test_the_password_is_random_kept_for_the_owner_only_and_not_in_the_configuration(neo4j_server: LocalServer) -> None:
    password = neo4j_server.home / "password"
    assert password.stat().st_mode & 0o777 == 0o600
    assert len(neo4j_server.password) >= 24
    assert neo4j_server.password not in (neo4j_server.home / "conf" / "neo4j.conf").read_text()


def test_it_listens_on_the_loopback_interface_only(neo4j_server: LocalServer) -> None:
    conf = (neo4j_server.home / "conf" / "neo4j.conf").read_text()
    assert "server.default_listen_address=127.0.0.1" in conf


def test_the_program_refuses_a_port_that_is_taken(
    tmp_path_factory: pytest.TempPathFactory, capfd: pytest.CaptureFixture[str]
) -> None:
    home = new_server(tmp_path_factory).home
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["--home", str(home), "--port", str(port)]) == 1
    refused = capfd.readouterr().err
    assert f"--port: the port cannot be used: Address already in use; found {port}" in refused
    assert "make neo4j NEO4J_PORT=" in refused


def test_a_server_listens_on_chosen_ports(tmp_path_factory: pytest.TempPathFactory) -> None:
    server = new_server(tmp_path_factory, ports=(7687, 7474))
    assert (server.address, server.http_address) == ("bolt://127.0.0.1:7687", "http://127.0.0.1:7474")
    conf = (server.home / "conf" / "neo4j.conf").read_text()
    assert "server.bolt.listen_address=:7687" in conf
    assert "server.http.listen_address=:7474" in conf


def test_ports_are_given_once_to_all_processes_and_not_from_the_range_of_the_system() -> None:
    code = "from cuihop_tools.neo4j_server import free_ports; print(*free_ports(120), flush=True); input()"
    with ExitStack() as stack:
        others = [
            stack.enter_context(
                subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            )
            for _ in range(2)
        ]
        ports = free_ports(120)
        for process in others:
            assert process.stdout is not None
            ports += map(int, process.stdout.readline().split())
        for process in others:
            process.communicate("\n")
    assert len(set(ports)) == len(ports) == 360
    system = Path("/proc/sys/net/ipv4/ip_local_port_range")
    if system.exists():
        assert max(ports) < int(system.read_text().split()[0])


def test_a_port_in_use_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        (free,) = free_ports(1)
        monkeypatch.setattr(neo4j_server, "_PORTS", iter([port, free]))
        assert free_ports(1) == [free]


def test_threads_may_ask_for_ports_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow() -> Iterator[int]:
        for port in free_ports_of_this_process:
            threading.Event().wait(0.05)  # meanwhile the other thread asks
            yield port

    free_ports_of_this_process = free_ports(4)
    monkeypatch.setattr(neo4j_server, "_PORTS", slow())
    with ThreadPoolExecutor(2) as threads:
        ports = [port for each in threads.map(free_ports, [2, 2]) for port in each]
    assert sorted(ports) == sorted(free_ports_of_this_process)
