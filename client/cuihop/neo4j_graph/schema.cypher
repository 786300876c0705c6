// cuihop schema 1
//
// What a database of cuihop holds. Each statement may be run again and then changes nothing.
//
//   (:CuihopStore {schema, active, previous, labelled})       one node: the version of this schema, the active release
//   (:Release {number, name, digest, state, …})               what was loaded; state: loading, complete, removing
//   (:StoredConcept {release, cui, number, component,         every concept of every stored release; weight: order in
//                    name, synonyms, folded, semantic_types,  searches, by descendants, absent from older releases;
//                    weight, codes})                          codes: SAB:CODE, best first, of a release with codes
//   (:StoredConcept:Concept)                                  those of the active release: what a curator asks for
//   (child)-[:IS_A {sabs}]->(parent)                          always within one release
//   (:RetiredConcept {release, cui, relation, successor})     one for each statement on a retired concept
//   (:SemanticType {release, code, name})
//   (:SourceVocabulary {release, sab, edges})
//   (:SourceCode {release, code, sab, cuis, marks,            one for each code SAB:CODE; a value for each concept, best
//                 source_concepts, positions})                first: its mark, absent where all are active; SCUI, absent
//                                                             where none has another; position among codes of the concept
//   (:SearchPage {release, prefix, cuis, places, kinds})      the best answers to a word, or its beginning, that many
//                                                             names have; absent from older releases, as are the next
//   (:SearchForm {release, form, words})                      words that a search takes for one another
//   (:SearchWords {release, number, words})                   words that a misspelt one may stand for, in blocks

CREATE CONSTRAINT cuihop_store_unique IF NOT EXISTS
FOR (s:CuihopStore) REQUIRE s.id IS UNIQUE;

CREATE CONSTRAINT release_number_unique IF NOT EXISTS
FOR (r:Release) REQUIRE r.number IS UNIQUE;

CREATE CONSTRAINT stored_concept_unique IF NOT EXISTS
FOR (c:StoredConcept) REQUIRE (c.release, c.cui) IS UNIQUE;

CREATE CONSTRAINT concept_cui_unique IF NOT EXISTS
FOR (c:Concept) REQUIRE c.cui IS UNIQUE;

CREATE INDEX retired_concept IF NOT EXISTS
FOR (r:RetiredConcept) ON (r.release, r.cui);

CREATE INDEX semantic_type IF NOT EXISTS
FOR (t:SemanticType) ON (t.release, t.code);

CREATE INDEX source_code IF NOT EXISTS
FOR (s:SourceCode) ON (s.release, s.code);

CREATE INDEX search_page IF NOT EXISTS
FOR (p:SearchPage) ON (p.release, p.prefix);

CREATE INDEX search_form IF NOT EXISTS
FOR (f:SearchForm) ON (f.release, f.form);

// Folded names: lower case, no accents, single spaces. One word is whatever stands between two spaces.
CREATE FULLTEXT INDEX concept_names IF NOT EXISTS
FOR (c:StoredConcept) ON EACH [c.folded]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'whitespace'}};
