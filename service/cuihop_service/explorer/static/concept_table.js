// Concepts as a table: by hops and name or by another column, filtered, a page of rows at a time.

import { el, fill, counted, grouped } from "./dom.js";
import { address, conceptAddress } from "./address.js";
import { matching } from "./names.js";
import { ownTable } from "./sortable_table.js";

const ROWS = matchMedia("(max-width: 40rem)").matches ? 20 : 100; // rows are cards there
const OF_RECORDS = ["vocabularies", "semantic-types", "parents", "children"]; // columns that the service is asked for

/**
 * The concepts around a centre, with a filter.
 * @param {import("./main.js").App} app
 * @param {{centre: string, direction: string, total: number, concepts: {cui: string, name: string|null, hops: number}[]}} around
 *   `concepts` in the order of rows; fewer than `total` where the service gives a part
 * @param {{filter: string, order: import("./sortable_table.js").Order, onchange: (filter: string) => void}} shown the filter and
 *   the order of an address; `order` is changed, then `onchange` called
 * @param {AbortSignal} signal
 */
export function conceptTable(app, { centre, direction, total, concepts }, { filter: text, order, onchange }, signal) {
  const status = el("p", { class: "status", role: "status", id: "matches" });
  const filter = el("input", { id: "filter", type: "search", autocomplete: "off", spellcheck: "false", value: text,
    "aria-describedby": "matches", placeholder: app.release.names ? "part of a name, or an identifier" : "beginning of an identifier", oninput: () => {
      onchange(filter.value);
      table.show(null);
    } });
  /** @type {Map<string, any>} */
  const records = new Map();
  const record = ({ cui }) => records.get(cui) ?? {};
  const sabs = (one) => (record(one).sabs ?? []).join(", ");
  const types = (one) => (record(one).semantic_types ?? []).map((type) => type.name).join(", ");
  /** The value of a record; dots until it is there. */
  const late = (one, value) => (records.has(one.cui) ? value : "…");
  const number = (field) => ({ cell: (one) => late(one, grouped(record(one)[field] ?? 0)), key: (one) => record(one)[field] ?? -1 });
  const columns = [
    { head: "Concept", cell: ({ cui, name }) => el("a", { href: conceptAddress(cui) }, name ?? cui), key: ({ cui, name }) => name ?? cui },
    { head: "Identifier", cell: ({ cui }) => el("code", {}, cui), key: ({ cui, name }) => name && cui },
    { head: "Hops", cell: ({ cui, name, hops }) => el("a", { href: address("path", { a: centre, b: cui, direction: direction === "any" ? "" : direction }),
      "aria-label": `${counted(hops, "hop")}: path to ${name ?? cui}` }, hops), key: ({ hops }) => hops },
    { head: "Vocabularies", cell: (one) => late(one, sabs(one)), key: (one) => late(one, sabs(one)) },
    { head: "Semantic types", cell: (one) => late(one, types(one)), key: (one) => late(one, types(one)) },
    { head: "Parents", ...number("parents") },
    { head: "Children", ...number("children") },
  ];

  /** Gets the records of some concepts; what is missing stays dots. */
  async function describe(some) {
    const missing = some.map(({ cui }) => cui).filter((cui) => !records.has(cui));
    const before = records.size;
    for (let first = 0; first < missing.length && !signal.aborted; first += app.release.limits.concepts) {
      const chunk = missing.slice(first, first + app.release.limits.concepts);
      const answer = await app.service.post("v1/concepts", { cuis: chunk }, signal).catch(() => null); // the table is there without it
      if (!answer) break;
      answer.concepts.forEach((concept, i) => records.set(chunk[i], concept));
    }
    return records.size > before && !signal.aborted;
  }

  const table = ownTable("Concepts", columns, () => matching(concepts, filter.value), { order, page: ROWS,
    attributes: ({ cui }) => ({ "data-cui": cui }), onorder: () => onchange(filter.value), onshow: async (matches, rows) => {
      const all = concepts.length < total ? `the nearest ${grouped(concepts.length)} of ${counted(total, "concept")}` : counted(total, "concept");
      status.textContent = filter.value.trim() ? `${grouped(matches.length)} of ${all}` : all;
      if (await describe(OF_RECORDS.includes(order.head) ? matches : rows)) table.show();
    } });
  return el("section", { "aria-label": "Table" }, el("div", { class: "field" }, el("label", { for: "filter" }, "Filter"), filter, status), table.root);
}
