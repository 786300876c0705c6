// The similarity of two concepts by every measure, with their common ancestors and their places.

import { el, counted, grouped, table, tableRow } from "./dom.js";
import { address, conceptAddress } from "./address.js";

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
const VALUE_HEADS = ["Measure", "Value", "Formula"];
const SCALED_HEADS = ["Measure", "Value", "Less similar random pairs", "Middle of random pairs", "Nearest 5 %"];
const ANCESTOR_HEADS = ["Common ancestor", "Which", "Depth", "IC", "Hops from A", "Hops from B"];
const PLACE_HEADS = ["Concept", "Depth", "Shortest depth", "Height", "Ancestors", "Descendants", "Leaves", "IC"];

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

/** The concepts whose names the panel shows. */
export function conceptsOfSimilarity(found) {
  return [found.a.cui, found.b.cui, ...ancestors(found).map((one) => one.cui)].filter(Boolean);
}

/** Rows of CSV: measure and value. */
export function similarityRows(found) {
  return Object.entries(found.values).map(([measure, value]) => [measure, value]);
}

/** How many of a hundred random pairs are less similar; null without a value. @param {number[]} percentiles ascending */
function lessSimilar(value, percentiles, distance) {
  if (value === null || !percentiles.length) return null;
  return percentiles.slice(1).filter((one) => (distance ? one > value : one < value)).length;
}

/** Hops and every measure, each with a bar that says how many random pairs are less similar. */
function scaledRows(found, scale) {
  const hops = (path) => path > 0 ? grouped(Math.round(1 / path) - 1) : "no path";
  const row = (measure, value, shown, percentiles, form) => {
    const distance = measure === DISTANCE;
    const share = lessSimilar(value, percentiles, distance);
    return tableRow(SCALED_HEADS, [
      measure, el("span", { "data-value": value }, shown),
      share === null ? "" : [el("meter", { min: 0, max: 100, value: share, "aria-label": `${measure}: random pairs that are less similar, in percent` }), ` ${share} %`],
      ...[0.5, 0.95].map((level) => percentiles.length ? form(percentiles[Math.round((distance ? 1 - level : level) * 100)]) : ""),
    ], { "data-measure": measure });
  };
  const { path } = found.values;
  return [
    row("hops", path, found.hops === null ? "no path" : grouped(found.hops), scale.percentiles.path, hops),
    ...Object.entries(found.values).map(([measure, value]) => row(measure, value, rounded(value), scale.percentiles[measure], rounded)),
  ];
}

/**
 * @param {any} found the answer of v1/similarity @param {Map<string, string|null>} names
 * @param {any} [scale] the answer of v1/similarity-scale
 */
export function similarityPanel(found, names, scale) {
  const link = (cui) => el("a", { href: conceptAddress(cui) }, names.get(cui) ?? cui);
  const { hierarchy } = found;
  const place = (one) => tableRow(PLACE_HEADS, [
    [link(one.cui), one.cycle.length > 0 && ` in a cycle of ${one.cycle.length}`], one.depth, one.shortest_depth, one.height,
    ...[one.ancestors, one.descendants, one.leaves].map(grouped), rounded(one.ic),
  ], { "data-cui": one.cui });
  return el("section", { class: "card", id: "similarity" },
    el("h2", {}, "Similarity over the hierarchy"),
    scale ? table("Measures of similarity", SCALED_HEADS, scaledRows(found, scale))
      : table("Measures of similarity", VALUE_HEADS, Object.entries(found.values).map(([measure, value]) =>
        tableRow(VALUE_HEADS, [measure, el("span", { "data-value": value }, rounded(value)), MEASURES[measure] ?? ""], { "data-measure": measure }))),
    scale ? [el("p", { class: "hint", id: "scale" }, `The scale: ${grouped(scale.pairs)} pairs of different concepts that have an is_a link, drawn at random from this release, the same each time. `,
      `The bar is the share of these pairs that are less similar than the two; ties do not count. ${DISTANCE} is a distance: less is nearer.`),
      el("details", {}, el("summary", {}, "Formulas"), el("dl", { class: "facts" },
        Object.entries(MEASURES).map(([measure, formula]) => [el("dt", {}, measure), el("dd", {}, formula)])))]
      : el("p", {}, el("a", { href: address("similarity", { a: found.a.cui, b: found.b.cui }) }, "Are these values high? Compare them with random pairs")),
    table("Common ancestors", ANCESTOR_HEADS, ancestors(found).map((one) => tableRow(ANCESTOR_HEADS, [
      one.cui === null ? "virtual root" : link(one.cui), one.which.join(", "), one.depth, rounded(one.ic), one.hops_a, one.hops_b,
    ], { "data-cui": one.cui ?? "" }))),
    table("Places in the hierarchy", PLACE_HEADS, [place(found.a), place(found.b)]),
    el("p", { class: "hint" }, `Information content ${found.ic}; ${counted(hierarchy.nodes, "node")}, `,
      hierarchy.cycles > 0 ? `${counted(hierarchy.cycles, "cycle")} with ${grouped(hierarchy.concepts_in_cycles)} concepts made one node each; ` : "no cycle; ",
      hierarchy.roots > 1 ? `a virtual root above ${grouped(hierarchy.roots)} roots; ` : "one root; ", `depth ${hierarchy.depth}`));
}
