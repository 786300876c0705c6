// Two concept sets compared: what is matched, what is near and through whom, and the nn-IoU that comes of it.

import { el, fill, announce, counted } from "./dom.js";
import { address, conceptAddress, direction as directionIn, go, whole } from "./address.js";
import { box, placedInColumns } from "./boxes.js";
import { comparisonCypher, cypherPanel } from "./cypher.js";
import { Picture } from "./picture.js";
import { candidates, reported, successors } from "./problems.js";
import { directionChoice, directionInWords, vocabulariesIn, vocabulariesInWords } from "./restrictions.js";
import { saveButtons } from "./saving.js";
import { Problem } from "./service.js";
import { ownTable } from "./sortable_table.js";

const PAUSE = 250; // ms after the last change
const FARTHEST = 6;
const NOT_USABLE = ["CONCEPT_NOT_FOUND", "CONCEPT_RETIRED", "AMBIGUOUS_CODE", "INVALID_CUI"];
const MEANS = { matched: "matched: in A and B", near: "near: within n hops of the other set", alone: "alone: A on the left, B on the right", unknown: "unknown in this release" };

/** Calls `work` a moment after the last change, until the view is left. */
export function afterPause(work, signal) {
  let timer = 0;
  signal.addEventListener("abort", () => clearTimeout(timer));
  return () => {
    clearTimeout(timer);
    timer = setTimeout(work, PAUSE);
  };
}

/** Folds a form when the first answer is there, on a phone: the value then stands at the top. Not while somebody uses the form. */
export function foldOnce(form) {
  let isFirst = matchMedia("(max-width: 40rem)").matches;
  return () => {
    if (isFirst && !form.contains(document.activeElement)) form.open = false;
    isFirst = false;
  };
}

/** The rule in an address: n, λ, direction and vocabularies of the release. */
export function ruleIn(query, sabs) {
  return { n: whole(query.get("n"), 1, 0, FARTHEST), lambda: fraction(query.get("lambda"), 0.5), direction: directionIn(query),
    within_sabs: vocabulariesIn(query, sabs) };
}

/** The fields of a rule in an address. */
export function ruleInAddress({ n, lambda, direction, within_sabs: sabs }) {
  return { n, lambda, direction: direction === "any" ? "" : direction, sabs: sabs.join(",") };
}

/** Rows of controls for a rule, which they change. @param {() => void} onchange @param {any[]} others beside the direction */
export function ruleControls(rule, onchange, ...others) {
  const slider = (id, label, most, step, field) => {
    const output = el("output", { for: id }, String(rule[field]));
    const input = el("input", { id, type: "range", min: 0, max: most, step, value: rule[field], oninput: () => {
      rule[field] = Number(input.value);
      output.textContent = input.value;
      onchange();
    } });
    return el("div", { class: "slider" }, el("label", { for: id }, label), input, output);
  };
  return [
    el("div", { class: "row" }, slider("n", "n, hops within which a concept is near", FARTHEST, 1, "n"),
      slider("lambda", "λ, what a near concept counts", 1, 0.05, "lambda")),
    el("div", { class: "row" }, directionChoice(rule.direction, (direction) => {
      rule.direction = direction;
      onchange();
    }), others),
  ];
}

/** The comparison of a page: it stays until the next one is there, and where the next one fails. */
export class Comparison {
  #app;
  #signal;
  #asking = new AbortController();
  /** @type {Picture|null} */
  #picture = null;
  #trouble = el("div", {});
  #answer = el("div", { id: "answer" });

  /**
   * @param {import("./main.js").App} app @param {AbortSignal} signal of the view
   * @param {{order?: import("./sortable_table.js").Order, onorder?: () => void, oncompared?: (rows: any[]) => void}} [options] the order of the
   *   table, which is changed, then `onorder` called
   */
  constructor(app, signal, { order = { head: "", down: false }, onorder = () => {}, oncompared = () => {} } = {}) {
    this.sorting = { order, onorder };
    this.#app = app;
    this.#signal = signal;
    this.oncompared = oncompared;
    this.root = el("div", {}, this.#trouble, this.#answer);
    signal.addEventListener("abort", () => this.#stop());
  }

  #stop() {
    this.#asking.abort();
    this.#picture?.destroy();
    this.#picture = null;
  }

  /** Shows other things in its place. */
  clear(...children) {
    this.#stop();
    fill(this.#trouble);
    fill(this.#answer, ...children);
    this.#answer.removeAttribute("aria-busy");
  }

  /** @param {{a: string[], b: string[], n: number, lambda: number, direction: string, unknown: string}} requested */
  async compare(requested) {
    this.#asking.abort();
    this.#asking = new AbortController();
    const stop = AbortSignal.any([this.#signal, this.#asking.signal]);
    const app = this.#app;
    this.#answer.setAttribute("aria-busy", "true");
    await reported(this.#trouble, stop, async () => {
      const request = structuredClone(requested);
      const { found, left } = await relevance(app, request, stop);
      const { merged, isolated } = found;
      const sets = { a: current(request.a, merged), b: current(request.b, merged) };
      const held = [...sets.a, ...sets.b].filter((cui) => !isolated.includes(cui));
      const names = held.length ? await app.names(held, stop) : new Map();
      const rows = rowsOf(found, sets, names);
      this.#picture?.destroy();
      this.#picture = showComparison(app, this.#answer, { requested: request, found, sets, names, rows, left, sorting: this.sorting }, stop);
      fill(this.#trouble, left.length > 0 && leftOut(left));
      this.oncompared(rows);
    });
    if (!stop.aborted) this.#answer.removeAttribute("aria-busy");
  }
}

/**
 * The relevance of the sets of a request, without the concepts that cannot be compared: these leave the request.
 * @returns {Promise<{found: any, left: any[]}>} the answer, and the faults that name what was left out
 */
async function relevance(app, request, signal, left = []) {
  try {
    return { found: await app.service.post("v1/relevance", request, signal), left };
  } catch (error) {
    const faulty = error instanceof Problem && NOT_USABLE.includes(error.reason) ? error.faults.map((fault) => fault.cui) : [];
    const usable = (cuis) => cuis.filter((cui) => !faulty.includes(cui));
    const [a, b] = [usable(request.a), usable(request.b)];
    const fewer = a.length < request.a.length || b.length < request.b.length;
    if (!fewer || !a.length && !b.length) throw error;
    Object.assign(request, { a, b });
    return relevance(app, request, signal, [...left, ...error.faults]); // one kind of fault comes at a time
  }
}

function cuisOf(faults) {
  return [...new Set(faults.map((fault) => fault.cui))];
}

/** A notice of the concepts that were left out. */
function leftOut(faults) {
  const cuis = cuisOf(faults);
  return el("div", { class: "notice", role: "status", id: "left-out" },
    el("p", {}, el("b", {}, `${cuis.join(", ")}: left out of the comparison. `), "This release does not hold ",
      cuis.length === 1 ? "it" : "them", ". Check the identifiers, or count unknown concepts by the box above."),
    faults.map(candidates));
}

function fraction(text, fallback) {
  const number = text === null ? NaN : Number(text);
  return number >= 0 && number <= 1 ? number : fallback;
}

/** The concepts that identifiers stand for, each once. */
function current(cuis, merged) {
  return [...new Set(cuis.map((cui) => merged[cui] ?? cui))];
}

/** A row for each concept, the matched ones first. */
function rowsOf(found, sets, names) {
  const shared = new Set(found.shared);
  const isolated = new Set(found.isolated);
  const near = new Map(found.related.map((one) => [`${one.side} ${one.cui}`, one]));
  const rows = [];
  for (const [side, cuis] of [["A", sets.a], ["B", sets.b]]) {
    for (const cui of cuis) {
      if (shared.has(cui) && side === "B") continue;
      const kind = shared.has(cui) ? "matched" : near.has(`${side} ${cui}`) ? "near" : isolated.has(cui) ? "unknown" : "alone";
      rows.push({ cui, side: shared.has(cui) ? "A, B" : side, kind, name: names.get(cui) ?? null,
        witnesses: near.get(`${side} ${cui}`)?.witnesses ?? [] });
    }
  }
  const order = Object.keys(MEANS);
  return rows.sort((one, other) => order.indexOf(one.kind) - order.indexOf(other.kind));
}

function showComparison(app, place, { requested, found, sets, names, rows, left, sorting }, signal) {
  const picture = new Picture({
    label: `Concepts of A on the left, of B on the right: ${found.shared.length} matched, ${found.related.length} near`,
    onopen: (node) => go(conceptAddress(node.cui)),
  });
  const { boxes, edges, place: placed } = drawn(rows);
  const value = (number) => number.toFixed(4);
  const rule = [`n = ${found.n}, λ = ${found.lambda}, hops ${directionInWords(found.direction)}`, vocabulariesInWords(requested.within_sabs)].filter(Boolean).join(", ");
  fill(
    place,
    successors(found.merged),
    el("section", { class: "card figures" },
      el("div", {}, el("p", { class: "figure" }, el("span", { id: "nn-iou", "data-value": found.nn_iou }, value(found.nn_iou))),
        el("p", {}, "nn-IoU")),
      el("p", { class: "formula", id: "formula" },
        `= (${found.shared.length} matched + ${found.lambda} · ${found.related.length} near) / ${found.union} in all`),
      el("div", {}, el("p", { class: "figure second" }, el("span", { id: "iou", "data-value": found.iou }, value(found.iou))),
        el("p", {}, "IoU"))),
    el("p", { class: "hint" }, rule),
    boxes.length > 0 && picture.root,
    ownTable("Concepts", columnsOf(app, { ...found, sabs: requested.within_sabs }, names, signal), () => rows,
      { ...sorting, attributes: (row) => ({ "data-cui": row.cui, "data-kind": row.kind }) }, { id: "why" }).root,
    sets.a.length === 1 && sets.b.length === 1 && !found.isolated.length && el("p", {},
      el("a", { href: address("similarity", { a: sets.a[0], b: sets.b[0], sabs: requested.within_sabs.join(",") }) }, "Similarity of the two, by every measure")),
    saveButtons(app, "comparison", "Comparison of two concept sets", {
      picture: boxes.length > 0 ? picture : undefined,
      caption: () => `nn-IoU ${value(found.nn_iou)}, IoU ${value(found.iou)}; ${rule}${left.length ? `; left out: ${cuisOf(left).join(", ")}` : ""}`,
      json: () => ({ request: requested, answer: found, left_out: cuisOf(left) }),
      csv: () => [["cui", "name", "in", "how", "witness", "hops"], ...rows.flatMap((row) => row.witnesses.length
        ? row.witnesses.map((witness) => [row.cui, row.name ?? "", row.side, row.kind, witness.cui, witness.hops])
        : [[row.cui, row.name ?? "", row.side, row.kind, "", ""]])],
    }, signal),
    cypherPanel(comparisonCypher(sets.a, sets.b, found.n, found.direction, requested.within_sabs)),
  );
  if (boxes.length > 0) {
    placed(picture.canvas.clientWidth);
    const kinds = new Set(rows.map((row) => row.kind));
    picture.draw(boxes, edges, { legend: Object.entries(MEANS).filter(([kind]) => kinds.has(kind)).map(([kind, text]) => ({ kind, text })) });
  }
  announce(`nn-IoU ${value(found.nn_iou)}, IoU ${value(found.iou)}`);
  return picture;
}

/** @returns {import("./sortable_table.js").Column[]} */
function columnsOf(app, found, names, signal) {
  const counts = { matched: 1, near: found.lambda, alone: 0, unknown: 0 };
  return [
    { head: "Concept", cell: (row) => (row.kind === "unknown" ? row.cui : el("a", { href: conceptAddress(row.cui) }, row.name ?? row.cui)),
      key: (row) => row.name ?? row.cui },
    { head: "Identifier", cell: (row) => el("code", {}, row.cui), key: (row) => row.name && row.cui },
    { head: "In", cell: (row) => row.side, key: (row) => row.side },
    { head: "Counts", cell: (row) => el("span", { class: `kind ${row.kind}` }, row.kind === "near" ? `λ = ${found.lambda}` : counts[row.kind]),
      key: (row) => counts[row.kind] },
    { head: "Why", cell: (row) => reason(app, row, found, names, signal) },
  ];
}

/** A on the left, what both have in the middle, B on the right; a dashed line for near. */
function drawn(rows) {
  const boxes = rows.map((row) => box({ id: `${row.side} ${row.cui}`, cui: row.cui, name: row.name, kind: row.kind, note: row.kind }));
  const column = (side) => boxes.filter((one, i) => rows[i].side === side);
  const idOf = new Map(rows.flatMap((row) => row.side.split(", ").map((side) => [`${side} ${row.cui}`, `${row.side} ${row.cui}`])));
  const edges = new Map();
  for (const row of rows) {
    for (const witness of row.witnesses) {
      const other = idOf.get(`${row.side === "A" ? "B" : "A"} ${witness.cui}`);
      const own = `${row.side} ${row.cui}`;
      if (other) edges.set([own, other].sort().join("|"), { from: own, to: other, kind: "near", sides: true, text: counted(witness.hops, "hop") });
    }
  }
  const place = (room) => placedInColumns(column("A"), column("A, B"), column("B"), room);
  return { boxes, edges: [...edges.values()], place };
}

/** Through whom a concept is near, with the path on request. */
function reason(app, row, found, names, signal) {
  if (row.kind === "matched") return "in both sets";
  if (row.kind === "alone") return `nothing in the other set within ${counted(found.n, "hop")}`;
  if (row.kind === "unknown") return "this release does not hold it";
  return el("ul", { class: "witnesses" }, row.witnesses.map((witness) => {
    const path = el("span", { class: "through" });
    const [a, b] = row.side === "A" ? [row.cui, witness.cui] : [witness.cui, row.cui];
    const button = el("button", { type: "button", class: "quiet small", onclick: () => reported(path, signal, async () => {
      const answer = await app.service.get("v1/path", { a, b, direction: found.direction, max_hops: found.n, within_sabs: found.sabs }, signal);
      fill(path, answer.path === null ? "no path any more" : answer.path.map((step, i) =>
        [i > 0 && (step.relation === "parent" ? " ↑ " : " ↓ "), step.name ?? step.cui]), " ",
        el("a", { href: address("path", { a, b, direction: found.direction === "any" ? "" : found.direction, sabs: found.sabs.join(",") }) }, "as a picture"));
    }) }, "Path");
    return el("li", {}, `${counted(witness.hops, "hop")} from `,
      el("a", { href: conceptAddress(witness.cui) }, names.get(witness.cui) ?? witness.cui), " ", button, " ", path);
  }));
}

