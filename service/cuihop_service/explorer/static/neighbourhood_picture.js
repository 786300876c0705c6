// A neighbourhood as a picture: what is drawn of it, and which families are not.

import { el, fill, counted, grouped, announce } from "./dom.js";
import { address, conceptAddress, go, note } from "./address.js";
import { box } from "./boxes.js";
import { Families } from "./families.js";
import { placedInFamilies } from "./family_layout.js";
import { COLOURINGS, groups } from "./groups.js";
import { byName } from "./names.js";
import { Picture } from "./picture.js";
import { reported } from "./problems.js";
import { Surroundings } from "./surroundings.js";

const ROOM = 1100; // pixels, where the page does not say

/**
 * Fetches what is drawn first.
 * @param {import("./main.js").App} app
 * @param {{requested: any, around: any, name: string, to: (changed: any) => string, ondraw: (note: string, cuis: string[]) => void}} view
 *   `ondraw` gets a note on how much is drawn, and the concepts
 * @param {AbortSignal} signal
 * @returns {Promise<{root: HTMLElement, controls: HTMLElement, picture: Picture, draw: () => void, drawn: () => any}>}
 *   `draw` is called when the root is in the page
 */
export async function neighbourhoodPicture(app, { requested, around: centre, name, to, ondraw }, signal) {
  const around = new Surroundings(app, centre, signal);
  await around.grow();
  let colouring = groups([], "");
  const chosen = el("p", { class: "chosen", "aria-live": "polite" }, "Choose a concept in the picture.");
  const [trouble, others, full] = [el("div", {}), el("p", {}), el("p", {})];
  const picture = new Picture({
    label: `Neighbourhood of ${name}`,
    onopen: (node) => (node.kind === "folded" ? unfold(node.id) : go(conceptAddress(node.cui))),
    onselect: (node) => fill(chosen, node.kind === "folded"
      ? [node.text, " ", el("button", { type: "button", class: "quiet small", onclick: () => unfold(node.id) }, "Draw some"), " ",
        el("button", { type: "button", class: "quiet small", onclick: () => families.look(node.id) }, "List")]
      : [el("b", {}, node.name ?? node.cui), " ", el("code", {}, node.cui), " ", colouring.of.get(node.cui)?.text, " ",
        el("a", { href: conceptAddress(node.cui) }, "Card"), " ",
        el("a", { href: to({ cui: node.cui, open: "", as: "" }) }, "Neighbourhood"), " ",
        node.cui !== around.centre && el("a", { href: address("path", { a: around.centre, b: node.cui }) }, "Path from the centre")]),
  });
  signal.addEventListener("abort", () => picture.destroy());
  const changed = (id, work) => reported(trouble, signal, async () => {
    const before = around.nodes.size;
    const near = around.folds().find((fold) => fold.id === id)?.cui ?? around.centre;
    await work();
    fill(trouble);
    requested.open = around.opened();
    note(to({}));
    draw(near);
    announce(`${counted(around.nodes.size - before, "more concept")} drawn`);
  });
  const unfold = (id) => changed(id, () => around.unfold(id));
  const families = new Families({ members: (id) => around.members(id), unfold,
    choose: (id, cui) => changed(id, () => around.choose(id, cui)) }, signal);
  const colour = el("select", { id: "colour-choice", onchange: () => {
    requested.colour = colour.value;
    note(to({}));
    draw();
  } }, COLOURINGS.map(([value, text]) => el("option", { value, selected: value === requested.colour }, text)));

  /** Draws what is there now; `near` is what must be seen. */
  function draw(near = around.centre) {
    const nodes = [...around.nodes.values()].sort(byName);
    colouring = groups(nodes, requested.colour);
    const folds = around.folds();
    const boxes = boxesOf(nodes, around.centre, colouring.of);
    // The layers come of one shortest way to each concept; all edges at once would hide them.
    const tree = around.tree();
    const aside = around.edges.filter((edge) => !tree.has(edge)).map((edge) => ({ ...edge, kind: "aside" }));
    const lines = [...tree];
    for (const fold of folds) {
      boxes.push(box({ id: fold.id, cui: null, name: null, kind: "folded", text: fold.text, note: "folded; Enter unfolds" }));
      lines.push(fold.upwards ? { from: fold.cui, to: fold.id, kind: "fold" } : { from: fold.id, to: fold.cui, kind: "fold" });
    }
    const { frames, edges } = placedInFamilies(boxes, lines, around.centre, picture.canvas.clientWidth || ROOM);
    const drawn = requested.all ? [...aside, ...edges] : edges;
    picture.draw(boxes, drawn.map((edge) => ({ ...edge, sides: true })), { centre: near, frames, legend: [
      ...(requested.colour ? [] : [{ kind: "end", text: "centre" }]),
      ...colouring.legend,
      ...(folds.length ? [{ kind: "folded", text: "concepts that are not drawn" }] : []),
      ...(frames.length ? [{ kind: "family", text: "frame: all concepts in it share this edge" }] : []),
    ] });
    fill(others, aside.length > 0 && el("label", { class: "inline" },
      el("input", { type: "checkbox", id: "all", checked: requested.all === "yes", onchange: (event) => {
        requested.all = event.target.checked ? "yes" : "";
        note(to({}));
        draw();
        document.getElementById("all")?.focus();
      } }), ` Also draw the other ${aside.length === 1 ? "is_a edge" : counted(aside.length, "is_a edge")}`));
    fill(full, around.full > 0 && `No more than ${grouped(around.full)} concepts are drawn. Choose fewer hops, or a narrower centre.`);
    full.className = around.full > 0 ? "notice" : "";
    families.show(folds, around.nodes);
    ondraw(`${grouped(nodes.length - 1)} drawn`, nodes.map((node) => node.cui));
  }

  return {
    root: el("section", { "aria-label": "Picture" }, full, trouble, picture.root, chosen, others, families.root),
    controls: el("label", {}, "Colour by ", colour),
    picture,
    draw,
    drawn: () => ({ concepts: [...around.nodes.keys()], edges: around.edges,
      folded: around.folds().map(({ cui, upwards, left }) => ({ cui, relation: upwards ? "parent" : "child", left })) }),
  };
}

/** The boxes of concepts. Identifiers stand in the centre, and where concepts have one name. */
function boxesOf(nodes, centre, groupOf) {
  const named = new Map();
  for (const { name } of nodes) named.set(name, (named.get(name) ?? 0) + 1);
  return nodes.map(({ cui, name, hops }) => {
    const group = groupOf.get(cui);
    return box({ id: cui, cui, name, kind: group?.kind ?? (cui === centre ? "end" : "plain"), mark: group?.mark, strong: cui === centre,
      brief: cui !== centre && named.get(name) === 1,
      note: [cui === centre ? "centre" : counted(hops, "hop"), group?.text].filter(Boolean).join(", ") });
  });
}
