// How similar two concepts are by every measure, on the scale of random pairs of the release.

import { el, fill, announce, counted, grouped, radioChoice } from "./dom.js";
import { address, conceptAddress, go, note } from "./address.js";
import { pairFields } from "./concept_chips.js";
import { reported, successors } from "./problems.js";
import { vocabulariesIn, vocabulariesInWords, vocabularyChoice } from "./restrictions.js";
import { saveButtons } from "./saving.js";
import { orderIn, orderInAddress, ownTable } from "./sortable_table.js";

const CONTENTS = [["Sanchez", "Sánchez, by leaves"], ["Seco", "Seco, by descendants"]];
const SORTED = ["measures", "ancestors", "concepts"]; // tables

/** @type {import("./main.js").View} */
export async function similarityView(app, place, query, signal) {
  const requested = { a: query.get("a") ?? "", b: query.get("b") ?? "", ic: query.get("ic") === "Seco" ? "Seco" : "Sanchez",
    sabs: vocabulariesIn(query, app.release.sabs), ...Object.fromEntries(SORTED.map((name) => [name, query.get(name) ?? ""])) };
  document.title = "Similarity – cuihop";
  const to = (next) => address("similarity", { ...next, ic: next.ic === "Sanchez" ? "" : next.ic, sabs: next.sabs.join(",") });
  const show = (changed) => go(to({ ...requested, ...changed }));
  const [one, other] = pairFields(app, ["Of", "And"], requested, show, signal);
  const answer = el("div", { id: "answer" });
  fill(
    place,
    el("h1", {}, "Similarity of two concepts"),
    el("div", { class: "card form" },
      el("div", { class: "columns" }, one.root, other.root),
      radioChoice("ic", "Information content", CONTENTS, requested.ic, (ic) => show({ ic })),
      vocabularyChoice(app.release.sabs, requested.sabs, (sabs) => show({ sabs }))),
    answer,
  );
  if (!requested.a || !requested.b) {
    (requested.a ? other : one).input.focus();
    return;
  }
  fill(answer, el("p", { class: "waiting" }, "Loading …"));
  await reported(answer, signal, async () => {
    const { a, b, ic, sabs } = requested;
    const bounds = { ic, within_sabs: sabs };
    const [found, scale] = await Promise.all([app.service.get("v1/similarity", { a, b, ...bounds }, signal),
      app.service.get("v1/similarity-scale", bounds, signal)]);
    const names = await app.names([found.a, found.b, ...ancestors(found)].map((one) => one.cui).filter(Boolean), signal);
    const name = (cui) => names.get(cui) ?? cui;
    const ends = [found.a.cui, found.b.cui];
    const orders = Object.fromEntries(SORTED.map((name) => [name, orderIn(requested[name])]));
    const title = `Similarity of ${name(ends[0])} and ${name(ends[1])}`;
    document.title = `${title} – cuihop`;
    fill(
      answer,
      successors(found.merged),
      sabs.length > 0 && el("p", { class: "hint" }, `Over the hierarchy ${vocabulariesInWords(sabs)}`),
      similarityPanel(found, names, scale, orders, () => {
        for (const name of SORTED) requested[name] = orderInAddress(orders[name]);
        note(to(requested));
      }),
      el("p", { class: "row" }, el("a", { href: address("path", { a: ends[0], b: ends[1], sabs: sabs.join(",") }) }, "Path between the two")),
      saveButtons(app, `similarity-${ends[0]}-${ends[1]}`, title, {
        json: () => ({ ...found, within_sabs: sabs, scale: { pairs: scale.pairs, percentiles: scale.percentiles } }),
        csv: () => [["measure", "value"], ["hops", found.hops], ...Object.entries(found.values)],
      }, signal),
    );
    announce(`${title}: Lin ${found.values.Lin?.toFixed(4) ?? "none"}`);
  });
}

const MEASURES = {
  "path": "1 / (1 + d), d hops in both directions; 0 without a path",
  "path-lcs": "1 / (1 + d), d hops up from each to a common ancestor, the fewest",
  "Leacock-Chodorow": "-log((d + 1) / (2 D)), d as in path-lcs, D hops from the deepest concept to the root",
  "Wu-Palmer": "2 depth(lcs) / (d + 2 depth(lcs)), d hops from each to the lcs, the deepest common ancestor",
  "Resnik": "IC(mica), of the most informative common ancestor",
  "Lin": "2 IC(mica) / (IC(a) + IC(b))",
  "Jiang-Conrath": "IC(a) + IC(b) - 2 IC(mica): a distance, 0 for equal concepts",
  "simUI": "common ancestors of all ancestors of the two, each among its own",
  "simGIC": "the same, each ancestor counted by its information content",
};
const DISTANCE = "Jiang-Conrath";
const rounded = (number) => number === null ? "none" : number.toFixed(4);

/** The common ancestors of an answer with what each is, the lowest first. */
function ancestors(found) {
  const of = new Map(found.lowest.map((one) => [one.cui, { ...one, which: ["lowest"] }]));
  for (const which of ["deepest", "nearest", "most_informative"]) {
    const one = found[which];
    if (!of.has(one.cui)) of.set(one.cui, { ...one, which: [] });
    of.get(one.cui).which.push(which.replace("_", " "));
  }
  return [...of.values()];
}

/** How many of a hundred random pairs are less similar; null without a value. @param {number[]} percentiles ascending */
function lessSimilar(value, percentiles, distance) {
  if (value === null || !percentiles.length) return null;
  return percentiles.slice(1).filter((one) => (distance ? one > value : one < value)).length;
}

/** The measures, hops first, as values and on the scale: `middle` and `near` of random pairs. */
function measureRows(found, scale) {
  const hops = (path) => (path > 0 ? grouped(Math.round(1 / path) - 1) : "no path");
  const values = Object.entries(found.values).map(([measure, value]) => ({ measure, value, form: rounded, scaled: measure }));
  return [{ measure: "hops", value: found.values.path, form: hops, scaled: "path" }, ...values].map((row) => {
    const percentiles = scale.percentiles[row.scaled];
    const distance = row.measure === DISTANCE;
    const level = (one) => percentiles[Math.round((distance ? 1 - one : one) * 100)] ?? null;
    return { ...row, share: lessSimilar(row.value, percentiles, distance), middle: level(0.5), near: level(0.95) };
  });
}

const onScale = (head, field) => ({ head, cell: (row) => (row[field] === null ? "" : row.form(row[field])), key: (row) => row[field] });

/** @type {import("./sortable_table.js").Column[]} */
const MEASURE_COLUMNS = [
  { head: "Measure", cell: ({ measure }) => measure, key: ({ measure }) => measure },
  { head: "Value", cell: ({ value, form }) => el("span", { "data-value": value }, form(value)), key: ({ value }) => value },
  { head: "Less similar random pairs", key: ({ share }) => share, cell: ({ measure, share }) => share !== null && [
    el("meter", { min: 0, max: 100, value: share, "aria-label": `${measure}: random pairs that are less similar, in percent` }), ` ${share} %`] },
  onScale("Middle of random pairs", "middle"), onScale("Nearest 5 %", "near"),
];

/**
 * @param {any} found the answer of v1/similarity @param {Map<string, string|null>} names
 * @param {any} scale the answer of v1/similarity-scale
 * @param {Record<string, import("./sortable_table.js").Order>} orders of the tables, which are changed, then `onorder` called
 */
function similarityPanel(found, names, scale, orders, onorder) {
  const link = (cui) => el("a", { href: conceptAddress(cui) }, names.get(cui) ?? cui);
  const { hierarchy } = found;
  const sortedTable = (name, label, columns, rows, attributes) =>
    ownTable(label, columns, () => rows, { order: orders[name], onorder, attributes }).root;
  const number = (head, field, form = grouped) => ({ head, cell: (one) => (one[field] === null && form === grouped ? "" : form(one[field])), key: (one) => one[field] });
  const named = (head, rest) => ({ head, cell: (one) => (one.cui === null ? "virtual root" : [link(one.cui), rest(one)]), key: ({ cui }) => names.get(cui) ?? cui });
  const ofConcept = (one) => ({ "data-cui": one.cui ?? "" });
  return el("section", { class: "card", id: "similarity" },
    el("h2", {}, "Similarity over the hierarchy"),
    sortedTable("measures", "Measures of similarity", MEASURE_COLUMNS, measureRows(found, scale), ({ measure }) => ({ "data-measure": measure })),
    el("p", { class: "hint", id: "scale" }, `The scale: ${grouped(scale.pairs)} pairs of different concepts that have an is_a link, drawn at random from this release, the same each time. `,
      `The bar is the share of these pairs that are less similar than the two; ties do not count. ${DISTANCE} is a distance: less is nearer.`),
    el("details", {}, el("summary", {}, "Formulas"), el("dl", { class: "facts" },
      Object.entries(MEASURES).map(([measure, formula]) => [el("dt", {}, measure), el("dd", {}, formula)]))),
    sortedTable("ancestors", "Common ancestors", [named("Common ancestor", () => ""),
      { head: "Which", cell: ({ which }) => which.join(", "), key: ({ which }) => which.join(", ") },
      number("Depth", "depth"), number("IC", "ic", rounded), number("Hops from A", "hops_a"), number("Hops from B", "hops_b")], ancestors(found), ofConcept),
    sortedTable("concepts", "Places in the hierarchy", [named("Concept", ({ cycle }) => cycle.length > 0 && ` in a cycle of ${cycle.length}`),
      number("Depth", "depth"), number("Shortest depth", "shortest_depth"), number("Height", "height"), number("Ancestors", "ancestors"),
      number("Descendants", "descendants"), number("Leaves", "leaves"), number("IC", "ic", rounded)], [found.a, found.b], ofConcept),
    el("p", { class: "hint" }, `Information content ${found.ic}; ${counted(hierarchy.nodes, "node")}, `,
      hierarchy.cycles > 0 ? `${counted(hierarchy.cycles, "cycle")} with ${grouped(hierarchy.concepts_in_cycles)} concepts made one node each; ` : "no cycle; ",
      hierarchy.roots > 1 ? `a virtual root above ${grouped(hierarchy.roots)} roots; ` : "one root; ", `depth ${hierarchy.depth}`));
}
