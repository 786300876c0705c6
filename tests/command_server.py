"""Programs in processes forked from one that has imported cuihop: a page of commands runs ten times sooner.

``cuihop`` and ``python -c`` run as their users run them, in a process of its own with its own folder, environment,
standard streams and exit code; only the interpreter, its imports and its compiled code are shared. Servers and other
long-lived programs are started again.
"""

from __future__ import annotations

import array
import importlib
import json
import os
import pkgutil
import runpy
import socket
import subprocess
import sys
import textwrap
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numba
import pytest

import cuihop
from example_graph import example_graph
from waiting import wait_for

__all__ = ["forked_programs"]

_CLIENT = """
    #!{python} -IS
    import array, json, os, socket, sys
    server = socket.socket(socket.AF_UNIX)
    server.connect({address!r})
    message = json.dumps([sys.argv, os.getcwd(), dict(os.environ)]).encode()
    rights = array.array("i", [0, 1, 2])
    server.sendmsg([len(message).to_bytes(8, "big")], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
    server.sendall(message)
    code = server.recv(1)
    os._exit(code[0] if code else 1)
"""


@pytest.fixture(scope="session")
def forked_programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the programs ``cuihop`` and ``python``, to stand first in ``PATH``."""
    folder = tmp_path_factory.mktemp("programs")
    address = folder / "commands"
    for name in ("cuihop", "python"):
        client = folder / name
        client.write_text(textwrap.dedent(_CLIENT).lstrip().format(python=sys.executable, address=str(address)))
        client.chmod(0o755)
    with subprocess.Popen([sys.executable, __file__, str(address)], stdin=subprocess.PIPE) as server:
        wait_for(lambda: server.poll() is not None or address.exists())
        assert server.poll() is None
        yield folder
        server.kill()


def serve(address: str) -> None:
    """Fork for each command that connects."""
    import matplotlib.figure  # noqa: F401 - imported before the forks
    import pandas  # noqa: F401
    import rich.table  # noqa: F401

    import cuihop.cli
    import cuihop_service.worker  # noqa: F401
    from cuihop.cli import main

    for module in pkgutil.iter_modules(cuihop.cli.__path__, "cuihop.cli."):
        importlib.import_module(module.name)
    _load_compiled_code()

    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(16)
    while True:
        connection, _ = listener.accept()
        if os.fork() == 0:
            if os.fork() == 0:  # a grandchild, which nobody has to wait for
                listener.close()
                _run(connection, main)
            os._exit(0)
        connection.close()
        os.wait()


def _load_compiled_code() -> None:
    """Read it before the forks: in each of them that would take longer than all else."""
    graph = example_graph()
    graph.warm_up()
    graph.warm_up_hierarchy()
    graph.annotate_many(["Head"])
    cuihop.evaluate({"a": "C0042449", "b": "C0018670"}, {"a": ["b"], "b": ["a"]}, graph)


def _run(connection: socket.socket, main: object) -> None:
    head, rights, _, _ = connection.recvmsg(8, socket.CMSG_SPACE(3 * array.array("i").itemsize))
    streams = array.array("i")
    streams.frombytes(rights[0][2])
    size, message = int.from_bytes(head, "big"), b""
    while len(message) < size:
        message += connection.recv(size - len(message))
    arguments, folder, environment = json.loads(message)
    for target, stream in enumerate(streams):
        os.dup2(stream, target)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    settings: Any = numba.config
    settings.reload_config()
    code: object = 1
    try:
        if arguments[0].endswith("python"):
            _, option, program, *sys.argv[1:] = arguments
            sys.argv[0] = option
            if option == "-m":
                runpy.run_module(program, run_name="__main__", alter_sys=True)
            else:
                assert option == "-c"
                exec(compile(program, "<string>", "exec"), {"__name__": "__main__"})  # noqa: S102
        else:
            sys.argv = ["cuihop", *arguments[1:]]
            main()  # type: ignore[operator]
        code = 0
    except SystemExit as stop:
        code = stop.code
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        connection.sendall(bytes([code if isinstance(code, int) else int(code is not None)]))
        os._exit(0)


if __name__ == "__main__":
    serve(sys.argv[1])
