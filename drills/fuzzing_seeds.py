"""Small whole inputs of each reader, with which the drill of fuzzed readers begins."""

from __future__ import annotations

from pathlib import Path

from loader import omop_made, rf2_made, rrf_made, wordnet_made
from loader.test_mesh import EYES, in_trees, in_xml
from loader.test_ontologies import ANATOMY, HEADER
from loader.wordnet_made import Synset, lexicon, lmf

TEXTS = (
    "ID,CUIs\na,C0006121;C0018670\nb,\n", "a\t\tC0006121;C0018670\n", '{"image": "a", "CUIs": ["C0006121"]}\n',
    "query,document,score\na,b,0.5\nb,a,1e3\n", "query,document,rank\na,b,1\n", "a Q0 b 1 0.5 run\n",
    '{"query": "a", "document": "\\u0062", "score": 1}\n', "a 0 b 2\n# x\nb 0 a DR\n",
    "query,document,gain\na,b,0.25\n",
    "ID,modality,organ\na,CT,\nb,MR,brain\n", "class,CUI\nx,C0006121\nx,C0018670\n", 'ID,Caption\na,"one, ""two"""\n',
    "ID,BERTScore,external(name=x)\na,0.5,1\n", "1|t|Title\n1|a|Abstract\n1\t0\t5\tTitle\tDisease\tC0006121\n\n",
    '{"documents": [{"id": "1", "passages": [{"offset": 0, "text": "brain", "annotations": [{"id": "T1", "text": '
    '"brain", "infons": {"identifier": "C0006121"}, "locations": [{"offset": 0, "length": 5}]}]}]}]}',
    "T1\tDisease 0 5\tbrain\nN1\tReference T1 UMLS:C0006121\tx\n", "ID,start,end,cui\na,0,5,C0006121\n",
    "a\tb\nC0006121\tC0018670\n", "term1,term2,score\nbrain,head,3.5\n",
    "Mean,Stdev,Term1,Term2,CUI1,CUI2\n1,2,a,b,C0006121,C1\n",
    "ID;code\na;1121-12*-320-7a0\n", "1121-120-320-700\n", "C0006121 5\nC0018670,7\n", "C0006121,Brain\n",
    "00000000.tx|MMI|14.64|Brain|C0006121|[bpoc]|\"Brain\"-tx-1-\"brain\"-noun-0|TX|0/5|\n",
    "Semantic Group|Semantic Type|Section|Span|Negated|Uncertain|Generic|CUI|Preferred Text|Document Text\n"
    "Anatomy|Region|ALL|9,13|false|false|false|C0018670;C0018671|Head|head\n",
    "\ufeffID,CUIs\r\na,nan\r\n",
)  # fmt: skip
"""Files of users, in every form of docs/file-formats.md."""

QUERIES = (
    "MATCH (a:Concept {cui: $cui})-[:IS_A*1..3]->(b) WHERE a.name =~ 'b.*' RETURN b.cui AS cui, count(*) "
    "ORDER BY cui LIMIT 5",
    "UNWIND range(1, 10) AS n WITH n WHERE n > 2 CALL { RETURN 1 AS m } RETURN collect(n), `m` // x\n/* y */ "
    "UNION ALL RETURN 2",
    'MATCH p = shortestPath((a)-[:IS_A*..5]-(b)) RETURN [x IN nodes(p) | x.cui], "\\u0041" SKIP 1',
)

_FILES = {
    "edges.csv": "child,parent,child_name\na,b,A\nb,c,B\n",
    "toy.obo": HEADER + ANATOMY,
    "toy.json": '{"graphs": [{"id": "http://x/toy.json", "meta": {"version": "1"}, "nodes": [{"id": "http://x/T_1", '
    '"lbl": "one", "type": "CLASS", "meta": {"synonyms": [{"pred": "hasExactSynonym", "val": "1"}], "xrefs": [{"val": '
    '"UMLS:C0006121"}]}}, {"id": "http://x/T_2", "lbl": "two", "type": "CLASS", "meta": {"deprecated": false}}], '
    '"edges": [{"sub": "http://x/T_2", "pred": "is_a", "obj": "http://x/T_1"}]}]}',
    "cells.json": '{"CL:1": {"label": "one", "deprecated": false, "ancestors": {}}, "CL:2": {"label": "two", '
    '"deprecated": false, "ancestors": {"CL:1": 1}, "synonyms": ["zwei"]}}',
    "toy.ofn": "Prefix(:=<http://x/>)\nOntology(<http://x/toy>\nDeclaration(Class(:T_1))\nSubClassOf(:T_2 :T_1)\n)\n",
    "toy.owx": '<?xml version="1.0"?>\n<Ontology xmlns="http://www.w3.org/2002/07/owl#" ontologyIRI="http://x/toy">\n'
    '<SubClassOf><Class IRI="http://x/T_2"/><Class IRI="http://x/T_1"/></SubClassOf>\n</Ontology>\n',
    "toy.owl": '<?xml version="1.0"?>\n<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:owl='
    '"http://www.w3.org/2002/07/owl#" xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#">\n<owl:Ontology rdf:about='
    '"http://x/toy"/>\n<owl:Class rdf:about="http://x/T_2"><rdfs:label>two</rdfs:label><rdfs:subClassOf '
    'rdf:resource="http://x/T_1"/></owl:Class>\n</rdf:RDF>\n',
    "toy.ttl": "@prefix s: <http://www.w3.org/2004/02/skos/core#> .\n@prefix : <http://x/> .\n:b a s:Concept ; "
    's:broader :a ; s:prefLabel "b"@en .\n:a a s:Concept .\n',
    "desc2026.xml": in_xml(EYES),
    "mtrees2026.bin": in_trees(EYES),
    "words.xml": lmf(
        lexicon("en", {"en-1-n": ["one"], "en-2-n": ["two", "zwei"]}, {"en-2-n": [("hypernym", "en-1-n")]})
    ),
}  # fmt: skip


def releases(folder: Path) -> list[Path]:
    """Write a small release of each format into a folder, or as a file; the files of all of them."""
    folder.mkdir()
    rrf_made.written(
        folder / "RRF",
        {
            "MRREL": [rrf_made.isa("C0000001", "C0000002"), rrf_made.inverse_isa("C0000003", "C0000001")],
            "MRCONSO": [rrf_made.name("C0000001", "one"), rrf_made.coded("C0000002", "MSH", "D1")],
            "MRSTY": [rrf_made.semantic_type("C0000001", "T047", "Disease or Syndrome")],
            "MRDEF": [rrf_made.definition("C0000001", "The first.")],
            "MRRANK": ["0100|SRC|PT|N|"],
            "MRSAB": [rrf_made.vocabulary("SRC", "SRC_2025", "2025AA")],
            "MRMAP": [rrf_made.mapping()],
            "MRCUI": [rrf_made.retired("C0000009", "SY", "C0000001")],
            "MERGEDCUI": ["C0000008|C0000001|"],
            "DELETEDCUI": ["C0000007|gone|"],
        },
    )
    omop_made.released(
        folder / "OMOP",
        CONCEPT=[omop_made.concept(1), omop_made.concept(2), omop_made.concept(3, "C", "D")],
        CONCEPT_RELATIONSHIP=[omop_made.relationship(2, "Is a", 1), omop_made.relationship(3, "Maps to", 2)],
        CONCEPT_SYNONYM=[omop_made.synonym(2, "zwei")],
        CONCEPT_ANCESTOR=[omop_made.ancestor(1, 2, 1)],
        VOCABULARY=[omop_made.vocabulary("SNOMED", "2025")],
    )
    rf2_made.released(
        folder / "RF2",
        Relationship=[rf2_made.relationship(2, 1)],
        Concept=[rf2_made.concept(1), rf2_made.concept(2), rf2_made.concept(3, 0)],
        Description=[rf2_made.description(101011, 1, "One (finding)", rf2_made.FULLY_SPECIFIED)],
        Language=[rf2_made.acceptability(101011)],
        Association=[rf2_made.association(rf2_made.SAME_AS, 3, 2)],
    )
    wordnet_made.in_folder(
        folder / "WNDB", [Synset(["one"]), Synset(["two", "zwei"], ["one"]), Synset(["I"], [], ["one"])]
    )
    for name, text in _FILES.items():
        (folder / name).write_text(text, "utf-8")
    return sorted(path for path in folder.rglob("*") if path.is_file())
