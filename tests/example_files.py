"""The files that the examples of ``--help`` name, as small as they can be."""

from __future__ import annotations

from pathlib import Path

from cuihop import SnapshotGraph

__all__ = ["write_example_files"]

_NAMES = {
    "C0010823": "Finding", "C0018800": "Cardiomegaly", "C0024115": "Disorder of lung", "C0032226": "Pleural disease",
    "C0032227": "Pleural effusion", "C0032326": "Pneumothorax", "C3887491": "Exudative pleural effusion",
}  # fmt: skip
_EDGES = [
    ("C0018800", "C0010823"), ("C0024115", "C0010823"), ("C0032226", "C0024115"), ("C0032227", "C0032226"),
    ("C0032326", "C0032226"), ("C3887491", "C0032227"),
]  # fmt: skip
_CONCEPTS = {
    "chest-01": "C0032227", "chest-02": "C3887491;C0018800", "chest-03": "C0032326", "chest-04": "C0032227;C0018800"
}  # fmt: skip
_TABLES = {
    "concepts.csv": ("ID,CUIs", *(f"{image},{cuis}" for image, cuis in _CONCEPTS.items())),
    "predictions.csv": ("ID,CUIs", *(f"{image},C0032227" for image in _CONCEPTS)),
    "captions.csv": ("ID,Caption", *(f"{image},A small pleural effusion." for image in _CONCEPTS)),
    "captions-a.csv": ("ID,Caption", *(f"{image},Pneumothorax or pleural effusion." for image in _CONCEPTS)),
    "mentions.csv": ("ID,start,end,cui", *(f"{image},8,24,C0032227" for image in _CONCEPTS)),
    "labels.csv": ("image,modality", *(f"{image},{'CT' if n % 2 else 'X-ray'}" for n, image in enumerate(_CONCEPTS))),
    "qrels.txt": [f"{image} 0 {other} 1" for image in _CONCEPTS for other in _CONCEPTS if other != image],
    "pairs.csv": ("term1,term2,score", "pleural effusion,exudative pleural effusion,4", "pneumothorax,cardiomegaly,1",
                  "pleural effusion,pneumothorax,3"),
    "irma-truth.csv": ("ID,code", "chest-01,1123-127-500-000", "chest-02,1121-120-320-700"),
    "irma-a.csv": ("ID,code", "chest-01,1123-127-500-000", "chest-02,1121-120-310-700"),
}  # fmt: skip
_RELATION = "{0}||CUI|PAR|{1}||CUI|inverse_isa|||MSH|MSH|||N||\n"
_NAME = "{0}|ENG|P||PF||Y|||||MSH|MH||{1}|0|N||\n"


def write_example_files(folder: Path) -> None:
    """Write a graph, a release, and the tables of a collection into a folder."""
    SnapshotGraph.of(_EDGES, names=_NAMES, identifiers="cui").save(folder / "graph.cuihop")
    for name, lines in _TABLES.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    for name in ("a", "b"):
        rows = [
            f"{query},{document},{rank}\n"
            for query in _CONCEPTS
            for rank, document in enumerate(sorted(set(_CONCEPTS) - {query}, reverse=name == "b"), start=1)
        ]
        (folder / f"run-{name}.csv").write_text("query,document,rank\n" + "".join(rows), encoding="utf-8")
    (folder / "umls").mkdir()
    (folder / "umls" / "MRREL.RRF").write_text("".join(_RELATION.format(*edge) for edge in _EDGES))
    (folder / "umls" / "MRCONSO.RRF").write_text("".join(_NAME.format(*named) for named in _NAMES.items()))
