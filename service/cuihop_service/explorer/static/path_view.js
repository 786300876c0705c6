// How far one concept is from another: all shortest paths in one picture, and one of them as a list.

import { el, fill, counted, grouped, announce } from "./dom.js";
import { address, conceptAddress, direction as directionIn, go, whole } from "./address.js";
import { box } from "./boxes.js";
import { pairFields } from "./concept_chips.js";
import { cypherPanel, pathCypher } from "./cypher.js";
import { PathLayers, colourNumbers, placedInLayers } from "./layers.js";
import { Picture } from "./picture.js";
import { reported, successors } from "./problems.js";
import { directionChoice, directionInWords, vocabulariesIn, vocabulariesInWords, vocabularyChoice } from "./restrictions.js";
import { saveButtons } from "./saving.js";
import { Problem } from "./service.js";

const WAYS = { parent: "↑ is a", child: "↓ has child" };
const FARTHEST = 255;
const MOST_PATHS = 1e15; // the service counts no further
const MOST_CONCEPTS = 400; // of the picture
const GENERAL = 0.4; // information content of Seco below which a concept is very general
const APART = 5; // pixels between lines of one edge

/** @type {import("./main.js").View} */
export async function pathView(app, place, query, signal) {
  const requested = {
    a: query.get("a") ?? "",
    b: query.get("b") ?? "",
    direction: directionIn(query),
    max_hops: query.has("max_hops") ? whole(query.get("max_hops"), null, 0, FARTHEST) : null,
    which: whole(query.get("which"), 1, 1, MOST_PATHS),
    sabs: vocabulariesIn(query, app.release.sabs),
  };
  document.title = "Path – cuihop";
  const show = (changed) => {
    const next = { ...requested, which: 1, ...changed };
    go(address("path", { ...next, direction: next.direction === "any" ? "" : next.direction, which: next.which === 1 ? "" : next.which,
      sabs: next.sabs.join(",") }));
  };
  const [from, to] = pairFields(app, ["From", "To"], requested, show, signal);
  const bound = el("input", { id: "bound", type: "number", min: 0, max: FARTHEST, value: requested.max_hops ?? "", placeholder: "any",
    onchange: () => show({ max_hops: bound.value === "" ? null : whole(bound.value, null, 0, FARTHEST) }) });
  const before = place.querySelector("#answer[data-of='path']"); // stays until the next answer is there: a switch changes little
  const answer = before ?? el("div", { id: "answer", "data-of": "path" });
  fill(
    place,
    el("h1", {}, "Path between two concepts"),
    el("div", { class: "card form" },
      el("div", { class: "fields" }, from.root,
        el("button", { type: "button", class: "quiet swap", id: "swap", "aria-label": "Swap from and to", title: "Swap",
          onclick: () => show({ a: requested.b, b: requested.a }) }, "⇄"),
        to.root),
      el("div", { class: "row" }, directionChoice(requested.direction, (direction) => show({ direction })),
        el("label", { class: "inline" }, "At most ", bound, " hops")),
      vocabularyChoice(app.release.sabs, requested.sabs, (sabs) => show({ sabs }))),
    answer,
  );
  if (!requested.a || !requested.b) {
    fill(answer);
    (requested.a ? to : from).input.focus();
    return;
  }
  if (!before) fill(answer, el("p", { class: "waiting" }, "Loading …"));
  answer.setAttribute("aria-busy", "true");
  await reported(answer, signal, async () => {
    const { a, b, direction, max_hops, which, sabs } = requested;
    const bounds = { a, b, direction, max_hops, within_sabs: sabs };
    const [found, all, unrestricted] = await Promise.all([
      app.service.get("v1/path", { ...bounds, which }, signal),
      app.service.get("v1/paths", { ...bounds, limit: Math.min(MOST_CONCEPTS, app.release.limits.neighbours) }, signal),
      sabs.length ? app.service.get("v1/distance", { a, b, direction, max_hops }, signal) : null,
    ]);
    const ends = [a, b].map((cui) => found.merged[cui] ?? cui);
    const cuis = [...ends, ...all.concepts.map(({ cui }) => cui)];
    const [names, general] = await Promise.all([app.names(cuis, signal), generalOf(app, cuis, signal)]);
    showPaths(app, answer, { found, all, unrestricted, a: ends[0], b: ends[1], names, general, sabs, show }, signal);
  });
  if (!signal.aborted) answer.removeAttribute("aria-busy");
}

/** The placements of very general concepts in the hierarchy of all vocabularies; empty if the service keeps no index. */
async function generalOf(app, cuis, signal) {
  try {
    const { placements } = await app.service.post("v1/placements", { cuis: [...new Set(cuis)], ic: "Seco" }, signal);
    return new Map(placements.filter(({ ic }) => ic < GENERAL).map((one) => [one.cui, one]));
  } catch (error) {
    if (error instanceof Problem) return new Map();
    throw error;
  }
}

function showPaths(app, place, { found, all, unrestricted, a, b, names, general, sabs, show }, signal) {
  const within = found.max_hops === null ? "" : ` within ${counted(found.max_hops, "hop")}`;
  const title = found.hops === null ? `No path${within}` : counted(found.hops, "hop");
  const name = (cui) => names.get(cui) ?? cui;
  document.title = `${title}: ${name(a)} – ${name(b)}`;
  const conditions = [directionInWords(found.direction), vocabulariesInWords(sabs)].filter(Boolean).join(", ");
  announce(`${title}, ${conditions}`);
  const heading = [
    el("p", { class: "figure", id: "hops" }, title, " ", found.hops !== null && el("small", {}, conditions)),
    unrestricted && el("p", { class: "hint", id: "unrestricted" },
      `With all vocabularies: ${unrestricted.hops === null ? "no path" : counted(unrestricted.hops, "hop")}`),
  ];
  const elsewhere = el("p", { class: "row" },
    el("a", { href: address("similarity", { a, b, sabs: sabs.join(",") }) }, "Similarity of the two"),
    el("a", { href: address("neighbourhood", { cui: a }) }, `Neighbourhood of ${name(a)}`));
  if (found.path === null) {
    fill(place, successors(found.merged), el("section", { class: "card" }, heading,
      el("p", {}, `No chain of is_a links ${sabs.length ? `that ${sabs.join(" or ")} asserts ` : ""}connects ${name(a)} and ${name(b)}${within}`,
        found.direction === "any" ? "." : `, ${directionInWords(found.direction)}. With hops in both directions there may be one.`), elsewhere));
    return;
  }
  const rank = found.total === 1 ? "the only shortest path" : `${grouped(found.which)} of ${found.total >= MOST_PATHS ? "at least " : ""}${grouped(found.total)} shortest paths`;
  const mark = (cui) => general.has(cui) && cui !== a && cui !== b;
  const picture = new Picture({
    label: `All shortest paths; the one in the list: ${found.path.map((step) => step.name ?? step.cui).join(", ")}`,
    onopen: (node) => (node.kind === "folded" ? drawing.unfold(node) : go(conceptAddress(node.cui))),
    onselect: (node) => node.cui && fill(chosen, el("b", {}, name(node.cui)), " ", el("code", {}, node.cui), " ",
      mark(node.cui) && el("small", {}, generality(general.get(node.cui)), " "),
      el("a", { href: conceptAddress(node.cui) }, "Concept"), " ",
      !all.truncated && el("button", { type: "button", class: "quiet small", id: "through",
        onclick: () => show({ which: layers.rankThrough(node.cui) }) }, "Show a path through it")),
  });
  signal.addEventListener("abort", () => picture.destroy());
  const layers = new PathLayers(all);
  const chosen = el("p", { class: "chosen row", id: "chosen", role: "status" });
  const drawing = drawn(picture, all, layers, { path: found.path.map(({ cui }) => cui), names, mark });
  const searched = found.direction !== "vertical" ? found.direction : found.path[1]?.relation === "child" ? "down" : "up";
  const marked = all.concepts.some(({ cui }) => mark(cui));
  fill(
    place,
    successors(found.merged),
    el("div", { class: "paths" },
      el("section", { class: "card" },
        heading,
        el("p", { class: "row", role: "group", "aria-label": "Shortest paths" }, el("span", { id: "rank" }, rank),
          found.total > 1 && el("span", { class: "both" },
            el("button", { type: "button", class: "quiet small", id: "path-before", disabled: found.which === 1,
              onclick: () => show({ which: found.which - 1 }) }, "Previous"), " ",
            el("button", { type: "button", class: "quiet small", id: "path-after", disabled: found.which === found.total,
              onclick: () => show({ which: found.which + 1 }) }, "Next"))),
        el("ol", { class: "steps", id: "steps" }, found.path.map((step, i) => el("li", {},
          el("span", { class: "way" }, i === 0 ? "from" : WAYS[step.relation]), " ",
          el("a", { href: conceptAddress(step.cui) }, step.name ?? step.cui), " ", el("code", {}, step.cui), " ",
          i > 0 && el("small", { class: "sabs" }, step.sabs.join(", ")),
          mark(step.cui) && el("small", { class: "general" }, generality(general.get(step.cui)))))),
        elsewhere),
      el("div", {}, picture.root,
        marked && el("p", { class: "hint", id: "general" },
          `△ very general: an information content (Seco) below ${GENERAL}. A path through such a concept says little.`),
        all.truncated && el("p", { class: "hint" }, `The picture has the first ${grouped(all.concepts.length)} concepts only.`), chosen)),
    saveButtons(app, `path-${a}-${b}${found.which === 1 ? "" : `-${found.which}`}`, `Path from ${name(a)} to ${name(b)}`, {
      picture,
      caption: () => `${counted(found.hops, "hop")} ${conditions}, ${rank}`,
      json: () => ({ ...found, within_sabs: sabs, all: { concepts: all.concepts, edges: all.edges, truncated: all.truncated } }),
      csv: () => [["step", "cui", "name", "relation", "sabs"],
        ...found.path.map((step, i) => [i, step.cui, step.name ?? "", step.relation ?? "", (step.sabs ?? []).join(";")])],
    }, signal),
    cypherPanel(pathCypher(a, b, searched, found.max_hops ?? Math.max(1, found.hops), found.which, sabs)),
  );
  drawing.draw();
}

/** How general a concept is. */
function generality({ descendants, ic }) {
  return `△ very general: ${counted(descendants, "narrower concept")}, information content ${ic.toFixed(2)}`;
}

/** The picture of all paths, in which many concepts with the same edges are folded until they are asked for. */
function drawn(picture, { edges }, layers, { path, names, mark }) {
  const numbers = colourNumbers(edges);
  const on = new Set(path);
  const single = new Set(path);
  const draw = () => {
    const groups = layers.groups(single);
    const boxes = [...new Set(groups.values())].map((cuis) => box(cuis.length > 1
      ? { id: cuis[0], cui: null, name: null, kind: "folded", text: `+ ${counted(cuis.length, "concept")}`, cuis }
      : { id: cuis[0], cui: cuis[0], name: names.get(cuis[0]) ?? null, brief: !on.has(cuis[0]), kind: on.has(cuis[0]) ? "end" : "plain",
        strong: cuis[0] === path[0] || cuis[0] === path.at(-1), mark: mark(cuis[0]) ? "△" : "" }));
    const lines = new Map();
    for (const { child, parent, sabs } of edges) {
      const [from, to] = [child, parent].map((cui) => groups.get(cui)[0]);
      const line = lines.get(`${from} ${to}`) ?? { from, to, sabs: new Set(), strong: on.has(child) && on.has(parent) };
      for (const sab of sabs) line.sabs.add(sab);
      lines.set(`${from} ${to}`, line);
    }
    const near = new Map(boxes.map((one) => [one.id, []]));
    for (const { from, to } of lines.values()) {
      near.get(from).push(to);
      near.get(to).push(from);
    }
    const byLayer = path.map((_, hops) => boxes.filter((one) => layers.hops.get(one.id) === hops));
    const sides = placedInLayers(byLayer, (one) => near.get(one.id), picture.canvas.clientWidth);
    const parallel = [...lines.values()].flatMap(({ from, to, sabs, strong }) => {
      const colours = [...new Set([...sabs].map((sab) => numbers.get(sab)))].sort();
      return (colours.length ? colours : [null]).map((number, i) => ({ from, to, strong, sides,
        shift: (i - (Math.max(1, colours.length) - 1) / 2) * APART, ...(number && { kind: `sab-${number}`, text: strong ? String(number) : "" }) }));
    });
    const words = new Map();
    for (const [sab, number] of numbers) words.set(number, [...(words.get(number) ?? []), sab]);
    picture.draw(boxes, parallel, { centre: path[0], tall: !matchMedia("(max-width: 40rem)").matches, legend: [
      { kind: "end", text: "the path in the list" },
      ...(boxes.some(({ kind }) => kind === "plain") ? [{ kind: "plain", text: "other shortest paths" }] : []),
      ...(boxes.some(({ kind }) => kind === "folded") ? [{ kind: "folded", text: "many with the same edges; Enter or a tap shows them" }] : []),
      ...[...words].map(([number, sabs]) => ({ kind: `sab-${number}`, text: `${number} ${sabs.join(", ")}` })),
    ] });
  };
  return { draw, unfold: ({ cuis }) => {
    for (const cui of cuis) single.add(cui);
    draw();
  } };
}
