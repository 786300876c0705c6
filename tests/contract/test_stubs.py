"""The committed code of the contract is what the pinned generator makes, and the contract keeps its promises."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cuihop_api.v1 import concept_graph_pb2 as pb
from shared_data import ROOT

PROTO = ROOT / "proto"
GENERATED = ("concept_graph_pb2.py", "concept_graph_pb2.pyi", "concept_graph_pb2_grpc.py", "concept_graph_pb2_grpc.pyi")


def test_the_stubs_are_those_of_the_contract(tmp_path: Path) -> None:
    programs = Path(sys.executable).parent
    subprocess.run(
        [sys.executable, "-m", "grpc_tools.protoc", f"--proto_path={PROTO}", f"--python_out={tmp_path}",
         f"--grpc_python_out={tmp_path}", f"--plugin=protoc-gen-mypy={programs / 'protoc-gen-mypy'}",
         f"--mypy_out=quiet:{tmp_path}", f"--plugin=protoc-gen-mypy_grpc={programs / 'protoc-gen-mypy_grpc'}",
         f"--mypy_grpc_out=quiet:{tmp_path}", str(PROTO / "cuihop_api/v1/concept_graph.proto")],
        check=True,
    )  # fmt: skip
    for name in GENERATED:
        generated = (tmp_path / "cuihop_api/v1" / name).read_text(encoding="utf-8")
        assert generated == (PROTO / "cuihop_api/v1" / name).read_text(encoding="utf-8"), f"{name}: run make stubs"


@pytest.fixture(scope="module")
def buf() -> str:
    local = ROOT / ".cache" / "buf" / "node_modules" / ".bin" / "buf"
    found = shutil.which("buf") or (str(local) if local.exists() else None)
    if found is not None:
        return found
    pytest.skip("buf not found: npm install --prefix .cache/buf @bufbuild/buf")


def run(buf: str, *arguments: str) -> None:
    done = subprocess.run([buf, *arguments], cwd=PROTO, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_the_contract_is_in_buf_s_standard_form_with_every_field_commented(buf: str) -> None:
    run(buf, "lint")
    run(buf, "format", "--diff", "--exit-code")


def test_the_contract_breaks_no_older_caller(buf: str) -> None:
    run(buf, "breaking", "--against", "released.binpb")


def test_a_change_that_would_break_callers_is_seen(buf: str, tmp_path: Path) -> None:
    text = (PROTO / "cuihop_api/v1/concept_graph.proto").read_text(encoding="utf-8")
    changed = tmp_path / "cuihop_api/v1/concept_graph.proto"
    changed.parent.mkdir(parents=True)
    changed.write_text(text.replace("uint32 from_cache = 3;", "string from_cache = 3;"), encoding="utf-8")
    shutil.copyfile(PROTO / "buf.yaml", tmp_path / "buf.yaml")
    done = subprocess.run(
        [buf, "breaking", str(tmp_path), "--against", str(PROTO / "released.binpb")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert "from_cache" in done.stdout


def test_every_error_is_in_the_contract_s_words() -> None:
    service = pb.DESCRIPTOR.services_by_name["ConceptGraphService"]
    assert {method.name for method in service.methods} == {
        "Distance", "Distances", "StreamDistances", "Path", "Paths", "Neighbourhood", "SetRelevance", "Relevances",
        "Similarities", "PairSimilarities", "GetSimilarityScale", "Placements", "GetHierarchy", "Search", "Annotate",
        "GetConcept", "Codes", "CodeMaps", "Resolve", "GetDistancePack", "GetRelease",
    }  # fmt: skip
