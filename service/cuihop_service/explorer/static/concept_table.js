// Concepts as a table: by hops and name, filtered, some rows at a time.

import { el, fill, counted, grouped, table, tableRow } from "./dom.js";
import { address, conceptAddress } from "./address.js";
import { matching } from "./names.js";

const ROWS = matchMedia("(max-width: 40rem)").matches ? 20 : 100; // rows are cards there
const HEADS = ["Concept", "Identifier", "Hops", "Vocabularies", "Semantic types", "Parents", "Children"];

/**
 * The concepts around a centre, with a filter.
 * @param {import("./main.js").App} app
 * @param {{centre: string, direction: string, total: number, concepts: {cui: string, name: string|null, hops: number}[]}} around
 *   `concepts` in the order of rows; fewer than `total` where the service gives a part
 * @param {AbortSignal} signal
 */
export function conceptTable(app, { centre, direction, total, concepts }, signal) {
  const status = el("p", { class: "status", role: "status", id: "matches" });
  const more = el("p", {});
  const place = el("div", {});
  const filter = el("input", { id: "filter", type: "search", autocomplete: "off", spellcheck: "false",
    "aria-describedby": "matches", placeholder: "part of a name, or an identifier", oninput: () => show(ROWS) });
  /** @type {Map<string, any>} */
  const records = new Map();

  function row({ cui, name, hops }) {
    const { sabs = [], semantic_types: types = [], parents = null, children = null } = records.get(cui) ?? {};
    const way = { a: centre, b: cui, direction: direction === "any" ? "" : direction };
    return tableRow(HEADS, [
      el("a", { href: conceptAddress(cui) }, name ?? cui), el("code", {}, cui),
      el("a", { href: address("path", way), "aria-label": `${counted(hops, "hop")}: path to ${name ?? cui}` }, hops), sabs.join(", "),
      types.map((type) => type.name).join(", "), parents === null ? "…" : grouped(parents), children === null ? "…" : grouped(children),
    ], { "data-cui": cui });
  }

  async function show(most) {
    const found = matching(concepts, filter.value);
    const first = found.slice(0, most);
    const all = concepts.length < total ? `the nearest ${grouped(concepts.length)} of ${counted(total, "concept")}` : counted(total, "concept");
    status.textContent = filter.value.trim() ? `${grouped(found.length)} of ${all}` : all;
    const fillTable = () => fill(place, table("Concepts", HEADS, first.map(row)));
    fillTable();
    fill(more, found.length > most && el("button", { type: "button", class: "quiet small", id: "more-rows", onclick: () => {
      show(most + ROWS);
      document.getElementById("more-rows")?.focus();
    } }, `${grouped(Math.min(ROWS, found.length - most))} more of ${grouped(found.length - most)}`));
    const missing = first.map(({ cui }) => cui).filter((cui) => !records.has(cui)).slice(0, app.release.limits.concepts);
    if (!missing.length) return;
    const answer = await app.service.post("v1/concepts", { cuis: missing }, signal).catch(() => null); // the table is there without it
    if (!answer || signal.aborted) return;
    answer.concepts.forEach((concept, i) => records.set(missing[i], concept));
    for (const one of first) place.querySelector(`[data-cui="${CSS.escape(one.cui)}"]`)?.replaceWith(row(one));
  }

  show(ROWS);
  return el("section", { "aria-label": "Table" }, el("div", { class: "field" }, el("label", { for: "filter" }, "Filter"), filter, status), place, more);
}
