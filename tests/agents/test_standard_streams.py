"""``cuihop service mcp`` as a process of its own, with the official client."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agent_client import MODES, answer, message, over_standard_streams
from cuihop import SnapshotGraph
from cuihop.agents.arguments import checked_arguments
from cuihop.agents.bounded_answers import json_text
from cuihop.agents.tools import TOOLS
from cuihop_server import running_service
from cuihop_service.graph_holder import ServedGraph
from example_graph import example_graph
from program_run import Run

if TYPE_CHECKING:
    from mcp.client.client import Client
    from mcp_types import CallToolResult, ListToolsResult

BRAIN_STEM, HEAD = "C0006121", "C0018670"
PATH: tuple[str, dict[str, Any]] = ("path", {"a": BRAIN_STEM, "b": HEAD})


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("agents") / "example.cuihop"
    example_graph().save(path)
    return path


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "names"), [*zip(MODES, (True, False), strict=True)])
def test_the_client_lists_and_calls_the_tools_with_names_or_without(mode: str, names: bool, snapshot: Path) -> None:
    async def use(client: Client) -> tuple[ListToolsResult, list[CallToolResult]]:
        results = [
            await client.call_tool(*PATH),
            await client.call_tool("path", {"a": BRAIN_STEM}),
            await client.call_tool("search", {"text": "..."}),
            await client.call_tool("shortest", {}),
        ]
        return await client.list_tools(), results

    options = ["--graph", str(snapshot), *([] if names else ["--hide-names"])]
    listed, (found, missing, wordless, absent) = over_standard_streams(options, use, mode=mode)
    assert [tool.name for tool in listed.tools] == list(TOOLS)
    assert all(tool.output_schema and tool.annotations and tool.annotations.read_only_hint for tool in listed.tools)
    expected = TOOLS["path"].answer(
        example_graph(), checked_arguments(TOOLS["path"].arguments, "path", PATH[1]), names=names
    )
    assert json_text(answer(found)) == json_text(expected)
    assert ({row["name"] for row in answer(found)["path"]} == {None}) != names
    (block,) = found.content
    assert block.type == "text"
    assert block.text == json_text(expected)
    assert message(missing) == "parameter b: missing; found nothing; expected identifier of a concept"
    assert ("nothing to search for" if names else "names are hidden here") in message(wordless)
    assert "no such tool; found 'shortest'; expected search or annotate" in message(absent)


@pytest.mark.slow
def test_a_service_is_a_graph_too_and_may_serve_another_release() -> None:
    other = SnapshotGraph.of([(BRAIN_STEM, HEAD)], name="next", identifiers="cui")
    with running_service(example_graph(), names=False) as service:

        async def use(client: Client) -> list[CallToolResult]:
            before = await client.call_tool(*PATH)
            service.holder.serve(ServedGraph(other.release, index=other))
            return [before, await client.call_tool(*PATH), await client.call_tool("search", {"text": "brain"})]

        before, after, search = over_standard_streams(["--graph", service.http], use)
    assert [(answer(r)["hops"], answer(r)["release_name"]) for r in (before, after)] == [(3, "example"), (1, "next")]
    assert answer(before)["names_hidden"]  # as the service does
    assert "names are hidden here" in message(search)


def test_it_ends_with_its_input(snapshot: Path) -> None:
    command = [sys.executable, "-m", "cuihop", "service", "mcp", "--graph", str(snapshot)]
    done = subprocess.run(command, input="not JSON\n", capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_graph_that_is_not_there_is_an_error_of_the_command(tmp_path: Path, program: Run) -> None:
    done = program("service", "mcp", "--graph", tmp_path / "none.cuihop")
    assert done.code == 5
    assert "no such snapshot" in done.err


def test_without_the_sdk_its_extra_is_named(snapshot: Path) -> None:
    code = "import sys\nsys.modules['mcp'] = None\nsys.argv = ['cuihop', 'service', 'mcp', '--graph', sys.argv[1]]\n"
    code += "from cuihop.cli import main\nmain()\n"
    done = subprocess.run([sys.executable, "-c", code, str(snapshot)], capture_output=True, text=True, check=False)
    assert done.returncode == 8
    assert "pip install 'cuihop[mcp]'" in done.stderr
