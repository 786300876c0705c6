"""All Cypher of this package. Values are parameters."""

from __future__ import annotations

from typing import LiteralString

SAME_CONTENT: LiteralString = """
MATCH (r:Release {content: $content})
WHERE r.state IN ['loading', 'complete']
RETURN properties(r) AS release ORDER BY r.number DESC LIMIT 1
"""

BEGIN_RELEASE: LiteralString = """
MATCH (s:CuihopStore {id: 0})
SET s.last_number = coalesce(s.last_number, 0) + 1
CREATE (r:Release {number: s.last_number})
SET r += $properties
RETURN properties(r) AS release
"""

# The counters of a release record how much of it is stored. A batch claims its part first: the write lock on the
# release admits one loader at a time, and part and counter are committed together or not at all.
CLAIM_CONCEPTS: LiteralString = """
MATCH (r:Release {number: $release, state: 'loading'})
SET r.claimed_at = timestamp()
WITH r, r.concepts_loaded AS loaded
SET r.concepts_loaded = CASE WHEN loaded = $first THEN $last ELSE loaded END
RETURN loaded
"""

CLAIM_EDGES: LiteralString = """
MATCH (r:Release {number: $release, state: 'loading'})
SET r.claimed_at = timestamp()
WITH r, r.edges_loaded AS loaded
SET r.edges_loaded = CASE WHEN loaded = $first THEN $last ELSE loaded END
RETURN loaded
"""

CLAIM_RETIRED: LiteralString = """
MATCH (r:Release {number: $release, state: 'loading'})
SET r.claimed_at = timestamp()
WITH r, r.retired_loaded AS loaded
SET r.retired_loaded = CASE WHEN loaded = $first THEN $last ELSE loaded END
RETURN loaded
"""

CREATE_CONCEPTS: LiteralString = """
UNWIND $rows AS row
CREATE (:StoredConcept {release: $release, number: row[0], cui: row[1], component: row[2], name: row[3],
                        synonyms: row[4], folded: row[5], semantic_types: row[6],
                        definition_sabs: row[7], definitions: row[8]})
"""

# Ends are matched by their internal identifier, which needs no index. It is not stored: each load reads it anew, and
# the load is read back by identifiers. `id()` is deprecated, but present in the whole 5.26 line; with
# `elementId()`, whose texts must be sent and parsed, 11 and 28 % fewer edges were created in a second.
CREATE_EDGES: LiteralString = """
UNWIND range(0, size($children) - 1) AS i
MATCH (child) WHERE id(child) = $children[i]
MATCH (parent) WHERE id(parent) = $parents[i]
CREATE (child)-[:IS_A {sabs: $sab_set_members[$sab_sets[i]]}]->(parent)
"""

CREATE_RETIRED: LiteralString = """
UNWIND $rows AS row
CREATE (:RetiredConcept {release: $release, cui: row[0], relation: row[1], successor: row[2]})
"""

MERGE_PAGES: LiteralString = """
UNWIND $rows AS row
MERGE (p:SearchPage {release: $release, prefix: row[0]})
SET p.cuis = row[1], p.places = row[2]
"""

MERGE_TYPES: LiteralString = """
UNWIND $rows AS row
MERGE (t:SemanticType {release: $release, code: row[1]})
SET t.name = row[2], t.number = row[0]
"""

MERGE_VOCABULARIES: LiteralString = """
UNWIND $rows AS row
MERGE (v:SourceVocabulary {release: $release, sab: row[0]})
SET v.edges = row[1]
"""

FINISH_RELEASE: LiteralString = """
MATCH (r:Release {number: $release, state: 'loading'})
SET r.state = 'complete', r.loaded_at = datetime()
RETURN r.number AS number
"""
