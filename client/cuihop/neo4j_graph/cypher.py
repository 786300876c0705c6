"""Every Cypher text of this package. Values are parameters; no user input becomes part of a text.

Cypher takes no parameter for the bound of a path. Texts that need one are built here, once, for a ladder of fixed
bounds: `rung` gives the next bound, and the caller discards results beyond its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import LiteralString, TypeAlias

from cuihop.graph import Direction

# State of the database, releases, schema

DATABASE_STATE: LiteralString = """
MATCH (s:CuihopStore)
OPTIONAL MATCH (r:Release {number: s.active})
RETURN s.schema AS schema, s.active AS active, s.previous AS previous, s.labelled AS labelled,
       coalesce(s.switches, 0) AS switches
"""

RELEASES: LiteralString = """
MATCH (r:Release) RETURN properties(r) AS release ORDER BY r.number
"""

RELEASE: LiteralString = """
MATCH (r:Release {number: $release}) RETURN properties(r) AS release
"""

STORED_COUNTS: LiteralString = """
MATCH (c:StoredConcept {release: $release}) WHERE c.cui IS NOT NULL
WITH count(c) AS concepts, coalesce(sum(COUNT { (c)-[:IS_A]->() }), 0) AS edges
RETURN concepts, edges, COUNT { MATCH (s:SourceCode {release: $release}) WHERE s.code IS NOT NULL } AS codes
"""

ACTIVE_DIGEST: LiteralString = """
MATCH (s:CuihopStore) MATCH (r:Release {number: s.active, state: 'complete'})
RETURN r.digest AS digest, coalesce(s.activated, s.switches, 0) AS activated
"""

RELEASE_STATE: LiteralString = """
MATCH (r:Release {number: $release}) RETURN r.state AS state
"""

SCHEMA_OBJECTS: LiteralString = """
SHOW INDEXES YIELD name, state RETURN name, state
"""

AWAIT_INDEXES: LiteralString = """
CALL db.awaitIndexes($seconds)
"""

MAKE_STORE: LiteralString = """
MERGE (s:CuihopStore {id: 0})
ON CREATE SET s.schema = $schema
"""

# Identifiers

CURRENT: LiteralString = """
UNWIND $cuis AS cui
MATCH (c:StoredConcept {release: $release, cui: cui})
RETURN cui, c.number AS number
"""

RETIRED: LiteralString = """
UNWIND $cuis AS cui
MATCH (r:RetiredConcept {release: $release, cui: cui})
RETURN cui, r.relation AS relation, r.successor AS successor
"""

# Codes of vocabularies

CODES: LiteralString = """
UNWIND $keys AS code
MATCH (s:SourceCode {release: $release, code: code})
RETURN s.code, s.sab, s.cuis, s.marks, s.source_concepts, s.positions
"""

CODES_OF_CONCEPTS: LiteralString = """
UNWIND $keys AS cui
MATCH (c:StoredConcept {release: $release, cui: cui})
UNWIND c.codes AS code
WITH DISTINCT code
MATCH (s:SourceCode {release: $release, code: code})
RETURN s.code, s.sab, s.cuis, s.marks, s.source_concepts, s.positions
"""

# Distances and paths

_Arrows: TypeAlias = Mapping[Direction, tuple[LiteralString, LiteralString]]

_ARROWS: _Arrows = {
    "any": ("-", "-"),
    "up": ("-", "->"),
    "down": ("<-", "-"),
}

_RUNGS: tuple[tuple[int, LiteralString], ...] = (
    (0, "0"), (1, "1"), (2, "2"), (3, "3"), (4, "4"), (5, "5"), (6, "6"), (7, "7"), (8, "8"), (9, "9"), (10, "10"),
    (12, "12"), (14, "14"), (16, "16"), (20, "20"), (24, "24"), (32, "32"),
)  # fmt: skip


def rung(bound: int | None) -> int | None:
    """The smallest rung of the ladder at or above the bound; ``None``, no bound, above the ladder."""
    if bound is None:
        return None
    return next((hops for hops, _ in _RUNGS if hops >= bound), None)


Texts: TypeAlias = dict[tuple[Direction, int | None, bool], LiteralString]
"""Texts by direction, by the bound as `rung` gives it, and with True for edges that some of ``$sabs`` assert only."""

_RESTRICTIONS: Mapping[bool, Mapping[LiteralString, LiteralString]] = {
    False: {"<EDGE>": "", "<PATH WITHIN>": "", "<EDGE WITHIN>": "", "<ONE EDGE>": "", "<OF SABS>": ""},
    True: {
        "<EDGE>": "e",
        "<PATH WITHIN>": " WHERE all(e IN relationships(p) WHERE any(sab IN e.sabs WHERE sab IN $sabs))",
        "<EDGE WITHIN>": " AND any(sab IN e.sabs WHERE sab IN $sabs)",
        "<ONE EDGE>": " WHERE any(sab IN e.sabs WHERE sab IN $sabs)",
        "<OF SABS>": " WITH sab WHERE sab IN $sabs",
    },
}
"""Parts of texts that restrict edges to vocabularies: those of a path p, and an edge e. The planner tests them at each
hop of a search; a test holds the plan to it."""


def _within(text: LiteralString, restricted: bool) -> LiteralString:
    for marker, condition in _RESTRICTIONS[restricted].items():
        text = text.replace(marker, condition)
    return text


def _for_each_rung(text: LiteralString, arrows: _Arrows = _ARROWS) -> Texts:
    texts: Texts = {}
    for direction, (left, right) in arrows.items():
        directed = text.replace("<LEFT>", left).replace("<RIGHT>", right)
        for hops, bound in (*_RUNGS, (None, "")):
            for restricted in _RESTRICTIONS:
                texts[direction, hops, restricted] = _within(directed.replace("<BOUND>", bound), restricted)
    return texts


def _around_centres(text: LiteralString) -> Texts:
    """The text for every direction, ``vertical`` included: ``<AROUND>`` gives the concepts around c, and their hops."""
    vertical = _for_each_rung(text.replace("<AROUND>", _ABOVE_AND_BELOW), {"vertical": ("", "")})
    return _for_each_rung(text.replace("<AROUND>", _AROUND)) | vertical


# Two concepts of different weakly connected components have no path: no search is started for them. Within one
# component an undirected search ends; a directed one ends with the ancestors of one side.
DISTANCES = _for_each_rung("""
UNWIND range(0, size($starts) - 1) AS i
MATCH (a:StoredConcept {release: $release, cui: $starts[i]})
MATCH (b:StoredConcept {release: $release, cui: $ends[i]})
WHERE a.component = b.component
MATCH p = shortestPath((a)<LEFT>[:IS_A*..<BOUND>]<RIGHT>(b))<PATH WITHIN>
RETURN i, length(p) AS hops
""")

SHORTEST_PATHS = _for_each_rung("""
MATCH (a:StoredConcept {release: $release, cui: $start})
MATCH (b:StoredConcept {release: $release, cui: $end})
WHERE a.component = b.component
MATCH p = allShortestPaths((a)<LEFT>[:IS_A*..<BOUND>]<RIGHT>(b))<PATH WITHIN>
RETURN [n IN nodes(p) | n.cui] AS cuis
LIMIT $most
""")

NEXT_LEVEL = _for_each_rung("""
MATCH (c:StoredConcept {release: $release})<LEFT>[<EDGE>:IS_A]<RIGHT>(n)
WHERE c.cui IN $cuis<EDGE WITHIN>
RETURN collect(DISTINCT n.cui) AS cuis
""")

HOPS_BETWEEN = _for_each_rung("""
MATCH (c:StoredConcept {release: $release})<LEFT>[<EDGE>:IS_A]<RIGHT>(n)
WHERE c.cui IN $cuis AND n.cui IN $next<EDGE WITHIN>
RETURN DISTINCT c.cui AS cui, n.cui AS next
""")

STEPS: LiteralString = """
UNWIND range(0, size($cuis) - 1) AS i
MATCH (x:StoredConcept {release: $release, cui: $cuis[i][0]})
MATCH (y:StoredConcept {release: $release, cui: $cuis[i][1]})
OPTIONAL MATCH (x)-[up:IS_A]->(y)
OPTIONAL MATCH (x)<-[down:IS_A]-(y)
WITH i, up, down ORDER BY i
RETURN up IS NOT NULL AS is_parent, up.sabs AS up_sabs, down.sabs AS down_sabs
"""

# Neighbourhoods. ``min(length(p))`` for each end makes the server search breadth first and visit a concept once
# (VarLengthExpand(Pruning,BFS)); a test holds the plan to it. Without it a hub's paths would be counted one by one.

_AROUND: LiteralString = """
  MATCH p = (c)<LEFT>[:IS_A*0..<BOUND>]<RIGHT>(n)<PATH WITHIN>
  WITH n, min(length(p)) AS hops
"""

_ABOVE_AND_BELOW: LiteralString = """
  CALL (c) {
    MATCH p = (c)-[:IS_A*0..<BOUND>]->(n)<PATH WITHIN> RETURN n, min(length(p)) AS found
    UNION ALL
    MATCH p = (c)<-[:IS_A*0..<BOUND>]-(n)<PATH WITHIN> RETURN n, min(length(p)) AS found
  }
  WITH n, min(found) AS hops
"""

NEIGHBOURS = _around_centres("""
UNWIND $cuis AS cui
MATCH (c:StoredConcept {release: $release, cui: cui})
CALL (c) {<AROUND>
  WHERE 0 < hops AND ($hops IS NULL OR hops <= $hops)
  WITH n.cui AS near, hops ORDER BY hops, near
  RETURN collect(near) AS near, collect(hops) AS hops
}
RETURN cui, size(near) AS total, near[..coalesce($limit, size(near))] AS near,
       hops[..coalesce($limit, size(near))] AS hops
""")

PACK = _around_centres("""
UNWIND $cuis AS cui
MATCH (c:StoredConcept {release: $release, cui: cui})
CALL (c) {<AROUND>
  WHERE hops <= $hops AND n.number IN $numbers
  RETURN collect(n.number) AS numbers, collect(hops) AS hops
}
RETURN cui, numbers, hops
""")

# Names

NAMES: LiteralString = """
UNWIND $cuis AS cui
MATCH (c:StoredConcept {release: $release, cui: cui})
RETURN cui, c.name AS name
"""

_CONCEPTS: LiteralString = """
UNWIND $cuis AS cui
MATCH (c:StoredConcept {release: $release, cui: cui})
RETURN cui, c.name AS name, coalesce(c.synonyms, []) AS synonyms,
       [code IN coalesce(c.semantic_types, []) |
         [code, head(COLLECT { MATCH (t:SemanticType {release: $release, code: code}) RETURN t.name })]
       ] AS semantic_types,
       COUNT { (c)-[<EDGE>:IS_A]->()<ONE EDGE> } AS parents, COUNT { (c)<-[<EDGE>:IS_A]-()<ONE EDGE> } AS children,
       coalesce(c.definition_sabs, []) AS definition_sabs, coalesce(c.definitions, []) AS definitions,
       COLLECT { MATCH (c)-[e:IS_A]-() UNWIND coalesce(e.sabs, []) AS sab<OF SABS> RETURN DISTINCT sab } AS sabs
"""

CONCEPTS = {restricted: _within(_CONCEPTS, restricted) for restricted in _RESTRICTIONS}

# The index finds concepts that have the words; the rest finds the name and ranks it. A reading is a list of forms, and
# a form a list of words that stand for one another; the first reading is the text as typed. Ranks: 0 the whole name,
# from 1 on the whole name in a reading, 40 every word, from 41 on every form of a reading, 80 beginnings of words, 81
# beginnings in another form. A name's length is that of its UTF-8 bytes.
# Lists within a concept are gone through in place: no rows are made of names, and none are sorted but the best.
SEARCH: LiteralString = """
CALL db.index.fulltext.queryNodes('concept_names', $lucene) YIELD node AS c
WITH c WHERE c.release = $release
WITH c, [name IN c.folded | ' ' + name + ' '] AS folded
WITH c, folded, [name IN folded | [i IN range(0, size($readings) - 1)
  WHERE all(form IN $readings[i] WHERE any(word IN form WHERE name CONTAINS ' ' + word + ' ')) | i]] AS fitting
WITH c, [n IN range(0, size(folded) - 1) | 2 *
  CASE WHEN folded[n] = ' ' + $text + ' ' THEN 0
       WHEN any(i IN fitting[n] WHERE all(word IN split(trim(folded[n]), ' ')
                WHERE word IN $stops OR any(form IN $readings[i] WHERE word IN form)))
       THEN 1 + head([i IN fitting[n] WHERE all(word IN split(trim(folded[n]), ' ')
                WHERE word IN $stops OR any(form IN $readings[i] WHERE word IN form))])
       WHEN all(word IN $words WHERE folded[n] CONTAINS ' ' + word + ' ') THEN 40
       WHEN size(fitting[n]) > 0 THEN 41 + head(fitting[n])
       WHEN all(word IN $words WHERE folded[n] CONTAINS ' ' + word) THEN 80
       WHEN all(begun IN $begun WHERE any(word IN begun.beginnings WHERE folded[n] CONTAINS ' ' + word)
                                   OR any(word IN begun.words WHERE folded[n] CONTAINS ' ' + word + ' ')) THEN 81
       ELSE 99 END + CASE n WHEN 0 THEN 0 ELSE 1 END] AS scores
WITH c, scores, reduce(least = 198, s IN scores | CASE WHEN s < least THEN s ELSE least END) AS score
WHERE score < 198
WITH c, score, [i IN range(0, size(scores) - 1) WHERE scores[i] = score |
                CASE i WHEN 0 THEN c.name ELSE c.synonyms[i - 1] END] AS names
WITH c, score, [name IN names |
  [name, CASE WHEN name =~ '(?s)\\p{ASCII}*' THEN size(name)
              ELSE reduce(bytes = 0, letter IN split(name, '') | bytes +
                CASE WHEN letter <= '\u007f' THEN 1 WHEN letter <= '\u07ff' THEN 2
                     WHEN letter <= '\uffff' THEN 3 ELSE 4 END) END]] AS sized
WITH c, score, reduce(best = head(sized), next IN tail(sized) |
                      CASE WHEN next[1] < best[1] THEN next ELSE best END) AS best
RETURN c.cui AS cui, c.name AS name, best[0] AS matched,
       CASE score / 2 WHEN 0 THEN 'exact' WHEN 40 THEN 'words' WHEN 80 THEN 'prefix' ELSE 'form' END AS kind
ORDER BY score, -coalesce(c.weight, 0), best[1], cui
LIMIT $limit
"""

IS_WORD: LiteralString = """
CALL db.index.fulltext.queryNodes('concept_names', $lucene) YIELD node AS c
WITH c WHERE c.release = $release
RETURN true LIMIT 1
"""

WORDS_OF_FORMS: LiteralString = """
UNWIND $forms AS form
MATCH (f:SearchForm {release: $release, form: form})
RETURN form, f.words AS words
"""

WORDS_OF_BEGUN_FORMS: LiteralString = """
UNWIND $beginnings AS beginning
MATCH (f:SearchForm {release: $release}) WHERE f.form STARTS WITH beginning
UNWIND f.words AS word
RETURN DISTINCT word LIMIT $most
"""

SPELLINGS: LiteralString = """
MATCH (w:SearchWords {release: $release}) RETURN w.words AS words ORDER BY w.number
"""

# The stored hits of a word, or beginning of one, that many names have, written by the load. A place is the position of
# the name among the concept's names, the preferred one first.
SEARCH_PAGE: LiteralString = """
MATCH (p:SearchPage {release: $release, prefix: $text})
WHERE $limit <= size(p.cuis) OR size(p.cuis) < $most
UNWIND range(0, CASE WHEN $limit < size(p.cuis) THEN $limit ELSE size(p.cuis) END - 1) AS i
WITH i, p.cuis[i] AS cui, p.places[i] AS place, coalesce(p.kinds[i], 'words') AS kind
MATCH (c:StoredConcept {release: $release, cui: cui})
RETURN cui, c.name AS name, CASE place WHEN 0 THEN c.name ELSE c.synonyms[place - 1] END AS matched, kind
ORDER BY i
"""

# Transactions by the name in their metadata. A server shows and ends those of the same user without further rights.

END_TRANSACTIONS: LiteralString = """
SHOW TRANSACTIONS YIELD transactionId AS transaction, metaData AS data WHERE data.cuihop = $name
TERMINATE TRANSACTIONS transaction YIELD message
RETURN message
"""

# Stored releases. A transaction that changes the active release, moves the label or begins a removal writes to the
# CuihopStore node before it reads it: the write lock admits one such transaction at a time.
# `history` holds the releases to go back to, the nearest last. A switch to one of them drops it and those after it, so
# that going back twice never leads forward again. Databases of earlier versions have `previous` only.
# `activated` orders activations, rollbacks included: nanoseconds since 1970, and more each time, whatever the clock.
# A count would start again in a new database, and callers would take its releases for older ones.

SWITCH: LiteralString = """
MATCH (s:CuihopStore {id: 0})
SET s.locked_at = timestamp()
WITH s
MATCH (r:Release {number: $release, state: 'complete'})
WITH s, r, coalesce(s.history, CASE WHEN s.previous IS NULL THEN [] ELSE [s.previous] END) AS history
SET s.history = CASE
  WHEN s.active IS NULL OR s.active = r.number THEN history
  WHEN r.number IN history THEN history[..head([i IN range(0, size(history) - 1) WHERE history[i] = r.number])]
  ELSE history + s.active END
SET s.previous = last(s.history), s.active = r.number, s.labelled = null, s.switches = coalesce(s.switches, 0) + 1,
    s.activated = CASE WHEN timestamp() * 1000000 > coalesce(s.activated, 0) THEN timestamp() * 1000000
                  ELSE s.activated + 1 END
RETURN s.active AS active
"""

STILL_ACTIVE: LiteralString = """
MATCH (s:CuihopStore {id: 0})
SET s.locked_at = timestamp()
WITH s WHERE s.active = $release
RETURN s.active AS active
"""

RANGES: LiteralString = """
MATCH (c:StoredConcept {release: $release}) WHERE c.number % $size = 0
RETURN c.cui AS cui ORDER BY c.number
"""

UNLABEL: LiteralString = """
MATCH (c:Concept) WHERE $first <= c.cui AND ($last IS NULL OR c.cui < $last) AND c.release <> $release
REMOVE c:Concept
"""

LABEL: LiteralString = """
MATCH (c:StoredConcept {release: $release})
WHERE $first <= c.cui AND ($last IS NULL OR c.cui < $last) AND NOT c:Concept
SET c:Concept
"""

SET_LABELLED: LiteralString = """
MATCH (s:CuihopStore {id: 0, active: $release}) SET s.labelled = $release REMOVE s.locked_at
"""

# A release in blocks. Concepts come in the order of the index on (release, cui); lists cross the wire far faster
# than rows. An edge has the places of its ends in the store, so that no concept is read twice.

CUIS_AFTER: LiteralString = """
MATCH (c:StoredConcept {release: $release}) WHERE c.cui > $last
WITH c ORDER BY c.release, c.cui LIMIT $most
RETURN collect(c.cui) AS cuis, collect(c.number) AS numbers, collect(id(c)) AS places
"""

EDGES_BETWEEN: LiteralString = """
MATCH (c:StoredConcept {release: $release}) WHERE $first <= c.cui <= $last
MATCH (c)-[e:IS_A]->(p)
RETURN e.sabs AS sabs, collect(id(c)) AS children, collect(id(p)) AS parents
"""

NAMES_BETWEEN: LiteralString = """
MATCH (c:StoredConcept {release: $release}) WHERE $first <= c.cui <= $last
WITH c ORDER BY c.release, c.cui
RETURN collect(CASE WHEN c.name IS NULL THEN [] ELSE [c.name] END) AS names,
       collect(coalesce(c.synonyms, [])) AS synonyms, collect(coalesce(c.semantic_types, [])) AS types,
       collect(coalesce(c.definition_sabs, [])) AS sabs, collect(coalesce(c.definitions, [])) AS definitions
"""

CODES_AFTER: LiteralString = """
MATCH (s:SourceCode {release: $release}) WHERE s.code > $last
WITH s ORDER BY s.release, s.code LIMIT $most
RETURN collect([s.code, s.sab, s.cuis, s.marks, s.source_concepts, s.positions]) AS codes
"""

TYPES: LiteralString = """
MATCH (t:SemanticType {release: $release}) RETURN t.code AS code, t.name AS name ORDER BY t.number
"""

ALL_RETIRED: LiteralString = """
MATCH (r:RetiredConcept {release: $release})
RETURN collect(r.cui) AS cuis, collect(r.relation) AS relations, collect(r.successor) AS successors
"""

# Removal. Readers check the state of the release last, so it is marked first.

MARK_REMOVING: LiteralString = """
MATCH (s:CuihopStore {id: 0})
SET s.locked_at = timestamp()
WITH s WHERE coalesce(s.active, -1) <> $release
MATCH (r:Release {number: $release})
WITH s, r, coalesce(s.history, CASE WHEN s.previous IS NULL THEN [] ELSE [s.previous] END) AS history
SET r.state = 'removing', s.history = [number IN history WHERE number <> $release]
SET s.previous = last(s.history)
RETURN r.number AS number
"""

REMOVALS: tuple[LiteralString, ...] = (
    "MATCH (c:StoredConcept {release: $release}) CALL (c) { DETACH DELETE c } IN TRANSACTIONS OF 10000 ROWS",
    "MATCH (r:RetiredConcept {release: $release}) CALL (r) { DELETE r } IN TRANSACTIONS OF 50000 ROWS",
    "MATCH (p:SearchPage {release: $release}) DELETE p",
    "MATCH (n:SearchForm|SearchWords {release: $release}) CALL (n) { DELETE n } IN TRANSACTIONS OF 50000 ROWS",
    "MATCH (s:SourceCode {release: $release}) CALL (s) { DELETE s } IN TRANSACTIONS OF 50000 ROWS",
    "MATCH (t:SemanticType {release: $release}) DELETE t",
    "MATCH (v:SourceVocabulary {release: $release}) DELETE v",
)
"""Statements that remove the nodes of a release, but for the one of the release itself."""

REMOVE_RELEASE: LiteralString = """
MATCH (r:Release {number: $release, state: 'removing'}) DELETE r
"""
