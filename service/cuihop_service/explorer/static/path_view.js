// How far one concept is from another, and the way there.

import { el, fill, counted, grouped, announce } from "./dom.js";
import { address, conceptAddress, direction as directionIn, go, whole } from "./address.js";
import { box, placedAsWalk } from "./boxes.js";
import { conceptField } from "./concept_field.js";
import { cypherPanel, pathCypher } from "./cypher.js";
import { directionChoice, directionInWords } from "./directions.js";
import { Picture } from "./picture.js";
import { reported } from "./problems.js";
import { saveButtons } from "./saving.js";

const WIDER = 1.25; // than the page: a picture of that width can still be read
const WAYS = { parent: "↑ is a", child: "↓ has child" };
const FARTHEST = 255;
const MOST_PATHS = 1e15; // the service counts no further

/** @type {import("./main.js").View} */
export async function pathView(app, place, query, signal) {
  const requested = {
    a: query.get("a") ?? "",
    b: query.get("b") ?? "",
    direction: directionIn(query),
    max_hops: query.has("max_hops") ? whole(query.get("max_hops"), null, 0, FARTHEST) : null,
    which: whole(query.get("which"), 1, 1, MOST_PATHS),
  };
  document.title = "Path – cuihop";
  const show = (changed) => {
    const next = { ...requested, which: 1, ...changed };
    go(address("path", { ...next, direction: next.direction === "any" ? "" : next.direction, which: next.which === 1 ? "" : next.which }));
  };
  const from = conceptField(app, { label: "From", onchoose: (a) => show({ a }) });
  const to = conceptField(app, { label: "To", onchoose: (b) => show({ b }) });
  const bound = el("input", { id: "bound", type: "number", min: 0, max: FARTHEST, value: requested.max_hops ?? "", placeholder: "any",
    onchange: () => show({ max_hops: bound.value === "" ? null : whole(bound.value, null, 0, FARTHEST) }) });
  const answer = el("div", { id: "answer" });
  fill(
    place,
    el("h1", {}, "Path between two concepts"),
    el("div", { class: "card form" },
      el("div", { class: "fields" }, from.root,
        el("button", { type: "button", class: "quiet swap", id: "swap", "aria-label": "Swap from and to", title: "Swap",
          onclick: () => show({ a: requested.b, b: requested.a }) }, "⇄"),
        to.root),
      el("div", { class: "row" }, directionChoice(requested.direction, (direction) => show({ direction })),
        el("label", { class: "inline" }, "At most ", bound, " hops"))),
    answer,
  );
  if (requested.a) from.show(requested.a, null);
  if (requested.b) to.show(requested.b, null);
  if (!requested.a || !requested.b) {
    (requested.a ? to : from).input.focus();
    for (const [field, cui] of [[from, requested.a], [to, requested.b]]) if (cui) await nameIn(app, field, cui, signal);
    return;
  }
  fill(answer, el("p", { class: "waiting" }, "Loading …"));
  await reported(answer, signal, async () => {
    const found = await app.service.get("v1/path", requested, signal);
    const [a, b] = [requested.a, requested.b].map((cui) => found.merged[cui] ?? cui);
    const names = await app.names([a, b], signal);
    for (const [field, cui, current] of [[from, requested.a, a], [to, requested.b, b]]) {
      if (field.input.value === cui) field.show(cui, names.get(current) ?? null);
    }
    showPath(app, answer, found, { a, b, names, show }, signal);
  });
}

/** Shows the name of the concept that is chosen already. */
async function nameIn(app, field, cui, signal) {
  const concept = await app.service.get("v1/concept", { cui }, signal).catch(() => null);
  if (concept && field.cui === cui) field.show(cui, concept.name);
}

function showPath(app, place, found, { a, b, names, show }, signal) {
  const within = found.max_hops === null ? "" : ` within ${counted(found.max_hops, "hop")}`;
  const title = found.hops === null ? `No path${within}` : counted(found.hops, "hop");
  document.title = `${title}: ${names.get(a) ?? a} – ${names.get(b) ?? b}`;
  announce(`${title}, ${directionInWords(found.direction)}`);
  const merged = Object.entries(found.merged).map(([old, now]) =>
    el("p", { class: "notice" }, `${old} is retired; ${now} is its successor.`));
  if (found.path === null) {
    fill(place, merged, el("section", { class: "card" },
      el("p", { class: "figure", id: "hops" }, title),
      el("p", {}, `No chain of is_a links connects ${names.get(a) ?? a} and ${names.get(b) ?? b}${within}`,
        found.direction === "any" ? "." : `, ${directionInWords(found.direction)}. Either way there may be one.`)));
    return;
  }
  const boxes = found.path.map((step, i) => box({
    id: `${i} ${step.cui}`, cui: step.cui, name: step.name, ...(i === 0 || i === found.path.length - 1 ? { kind: "end", strong: true } : { kind: "plain" }),
    note: i === 0 ? "start" : WAYS[step.relation],
  }));
  const levels = found.path.map(() => 0);
  found.path.forEach((step, i) => (levels[i] = i === 0 ? 0 : levels[i - 1] + (step.relation === "parent" ? 1 : -1)));
  const edges = found.path.slice(1).map((step, i) => {
    const [before, after] = [boxes[i].id, boxes[i + 1].id];
    return step.relation === "parent" ? { from: before, to: after } : { from: after, to: before };
  });
  const picture = new Picture({
    label: `The path: ${found.path.map((step) => step.name ?? step.cui).join(", ")}`,
    onopen: (node) => go(conceptAddress(node.cui)),
  });
  signal.addEventListener("abort", () => picture.destroy());
  const rank = found.total === 1 ? "the only shortest path" : `${grouped(found.which)} of ${found.total >= MOST_PATHS ? "at least " : ""}${grouped(found.total)} shortest paths`;
  const share = address("neighbourhood", { cui: a });
  const searched = found.direction !== "vertical" ? found.direction : found.path[1]?.relation === "child" ? "down" : "up";
  fill(
    place,
    merged,
    el("section", { class: "card" },
      el("p", { class: "figure", id: "hops" }, title, " ", el("small", {}, directionInWords(found.direction))),
      el("p", { class: "row", role: "group", "aria-label": "Shortest paths" }, el("span", { id: "rank" }, rank),
        found.total > 1 && [
          el("button", { type: "button", class: "quiet small", id: "path-before", disabled: found.which === 1,
            onclick: () => show({ which: found.which - 1 }) }, "Previous"),
          el("button", { type: "button", class: "quiet small", id: "path-after", disabled: found.which === found.total,
            onclick: () => show({ which: found.which + 1 }) }, "Next"),
        ]),
      el("ol", { class: "steps", id: "steps" }, found.path.map((step, i) => el("li", {},
        el("span", { class: "way" }, i === 0 ? "from" : WAYS[step.relation]), " ",
        el("a", { href: conceptAddress(step.cui) }, step.name ?? step.cui), " ", el("code", {}, step.cui), " ",
        i > 0 && el("small", { class: "sabs" }, step.sabs.join(", "))))),
      el("p", {}, el("a", { href: share }, `Neighbourhood of ${names.get(a) ?? a}`))),
    picture.root,
    saveButtons(app, `path-${a}-${b}${found.which === 1 ? "" : `-${found.which}`}`, `Path from ${names.get(a) ?? a} to ${names.get(b) ?? b}`, {
      picture,
      caption: () => `${counted(found.hops, "hop")} ${directionInWords(found.direction)}, ${rank}`,
      json: () => found,
      csv: () => [["step", "cui", "name", "relation", "sabs"],
        ...found.path.map((step, i) => [i, step.cui, step.name ?? "", step.relation ?? "", (step.sabs ?? []).join(";")])],
    }, signal),
    cypherPanel(pathCypher(a, b, searched, found.max_hops ?? Math.max(1, found.hops), found.which)),
  );
  placedAsWalk(boxes, levels, picture.canvas.clientWidth * WIDER);
  picture.draw(boxes, edges, { legend: [{ kind: "end", text: "from and to" }, { kind: "plain", text: "between them; each arrow leads from child to parent" }] });
}
