// The same requests in Cypher, for Neo4j Browser: parameters first, then the query.

import { el, copyButton } from "./dom.js";

/** A text as Cypher writes it. */
function quoted(text) {
  return `'${text.replace(/[\\']/g, "\\$&")}'`;
}

function parameters(given) {
  return Object.entries(given).map(([name, value]) =>
    `:param ${name} => ${Array.isArray(value) ? `[${value.map(quoted).join(", ")}]` : quoted(value)};\n`).join("");
}

/** The patterns of is_a edges that hops may follow; down is up, read from the other end. */
function edges(direction, bounds) {
  const up = `-[:IS_A*${bounds}]->`;
  const down = `<-[:IS_A*${bounds}]-`;
  return { any: [`-[:IS_A*${bounds}]-`], up: [up], down: [down], vertical: [up, down] }[direction];
}

/** Clauses that find p, once for each pattern; the smallest length of p is `hops` of the kept variables. */
function fewestHops(clauses, kept) {
  if (clauses.length === 1) return `${clauses[0]}\nWITH ${kept}, min(length(p)) AS hops`;
  const parts = clauses.map((clause) => `${clause}\nRETURN ${kept}, length(p) AS found`);
  return `CALL () {\n${parts.join("\nUNION ALL\n")}\n}\nWITH ${kept}, min(found) AS hops`;
}

/** The condition that every edge of p is asserted by one of the parameter $sabs. @param {string[]} sabs none for all */
function assertedBy(sabs) {
  return sabs.length ? "\nWHERE all(e IN relationships(p) WHERE any(sab IN e.sabs WHERE sab IN $sabs))" : "";
}

export function conceptCypher(cui) {
  return `${parameters({ cui })}
MATCH (c:Concept {cui: $cui})
OPTIONAL MATCH (c)-[up:IS_A]->(parent:Concept)
RETURN c.cui AS cui, c.name AS name, parent.cui AS parent, parent.name AS parent_name, up.sabs AS sabs
ORDER BY parent`;
}

/** @param {string} direction any, up or down: a vertical path is one of the last two @param {string[]} sabs none for all */
export function pathCypher(a, b, direction, bound, which = 1, sabs = []) {
  if (a === b) return `${parameters({ a })}\nMATCH p = (:Concept {cui: $a})\nRETURN p`;
  return `${parameters(sabs.length ? { a, b, sabs } : { a, b })}
MATCH (a:Concept {cui: $a}), (b:Concept {cui: $b})
MATCH p = allShortestPaths((a)${edges(direction, `..${bound}`)[0]}(b))${assertedBy(sabs)}
${which === 1 ? "WITH p ORDER BY [n IN nodes(p) | n.cui] LIMIT 1"
    : `WITH [n IN nodes(p) | n.cui] AS cuis, collect(p)[0] AS p ORDER BY cuis SKIP ${which - 1} LIMIT 1`}
RETURN p`;
}

/** @param {string[]|null} shown the concepts of the picture; null where there is none */
export function neighbourhoodCypher(cui, hops, direction, shown) {
  const picture = shown && `// the picture
MATCH (c:Concept) WHERE c.cui IN $shown
OPTIONAL MATCH (c)-[e:IS_A]->(parent:Concept) WHERE parent.cui IN $shown
RETURN c, e, parent;

`;
  return `${parameters(shown ? { cui, shown } : { cui })}
${picture ?? ""}// everything within ${hops} ${hops === 1 ? "hop" : "hops"}, folded or not
${fewestHops(edges(direction, `1..${hops}`).map((pattern) => `MATCH p = (c:Concept {cui: $cui})${pattern}(near:Concept)\nWHERE near <> c`), "near")}
RETURN near.cui AS cui, near.name AS name, hops
ORDER BY hops, cui`;
}

/** @param {string[]} sabs none for all */
export function comparisonCypher(a, b, n, direction, sabs = []) {
  const near = n === 0 ? "" : `
// which are near one another, and how many hops apart
${fewestHops(edges(direction, `..${n}`).map((pattern) => `UNWIND $a AS cui_a
UNWIND $b AS cui_b
WITH cui_a, cui_b WHERE cui_a <> cui_b
MATCH (a:Concept {cui: cui_a}), (b:Concept {cui: cui_b})
MATCH p = shortestPath((a)${pattern}(b))${assertedBy(sabs)}`), "a, b")}
RETURN a.cui AS cui_a, a.name AS name_a, b.cui AS cui_b, b.name AS name_b, hops
ORDER BY hops, cui_a, cui_b;
`;
  return `${parameters(sabs.length ? { a, b, sabs } : { a, b })}${near}
// which are matched
UNWIND $a AS cui
WITH cui WHERE cui IN $b
RETURN cui`;
}

/** A folded panel with the query and a button to copy it. */
export function cypherPanel(text) {
  return el(
    "details",
    { class: "cypher" },
    el("summary", {}, "The same in Cypher"),
    el("pre", { tabindex: "0", "aria-label": "Cypher" }, el("code", {}, text)),
    copyButton("Copy Cypher", text),
  );
}
