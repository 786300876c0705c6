// A neighbourhood as a picture: what is drawn of it, and which families are not.

import { el, fill, counted, grouped, announce } from "./dom.js";
import { address, conceptAddress, go } from "./address.js";
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
 * @returns {Promise<{root: HTMLElement, controls: HTMLElement, picture: Picture, draw: () => void, follow: (next: any) => void,
 *   within: () => number, drawn: () => any}>} `draw` is called when the root is in the page
 */
export async function neighbourhoodPicture(app, { requested, around: centre, name, to, ondraw }, signal) {
  const around = new Surroundings(app, centre, signal);
  await around.grow();
  let colouring = groups([], "");
  let pending = Promise.resolve();
  let near = centre.cui; // the concept that stays where it is
  const chosen = el("p", { class: "chosen", "aria-live": "polite" }, "Choose a concept in the picture.");
  const [trouble, others, full] = [el("div", {}), el("p", {}), el("p", {})];
  const picture = new Picture({
    label: `Neighbourhood of ${name}`,
    onopen: (node) => (node.kind === "folded" ? unfold(node.id) : go(conceptAddress(node.cui))),
    onselect: (node) => describe(node),
    onexpand: (node) => (node.kind === "folded" ? unfold(node.id) : expand(node.cui)),
  });
  signal.addEventListener("abort", () => picture.destroy());
  /** Describes the concept that is chosen in the picture. */
  const describe = (node) => fill(chosen, node.kind === "folded"
    ? [node.text, " ", el("button", { type: "button", class: "quiet small", onclick: () => unfold(node.id) }, "Draw some"), " ",
      el("button", { type: "button", class: "quiet small", onclick: () => families.look(node.id) }, "List")]
    : [el("b", {}, node.name ?? node.cui), " ", el("code", {}, node.cui), " ", colouring.of.get(node.cui)?.text, " ",
      around.undrawn(node.cui).length > 0 && [el("button", { type: "button", class: "quiet small", id: "expand",
        title: "Draw its parents and children too", onclick: () => expand(node.cui) }, "Expand"), " "],
      el("a", { href: conceptAddress(node.cui) }, "Card"), " ",
      el("a", { href: to({ cui: node.cui, open: "", as: "" }) }, "Neighbourhood"), " ",
      node.cui !== around.centre && el("a", { href: address("path", { a: around.centre, b: node.cui }) }, "Path from the centre")]);
  /** Goes to the address at which more is drawn: `follow` draws it, and the browser's Back takes it away. */
  const open = (cui, text) => {
    near = cui;
    go(to({ open: text }));
  };
  const ownerOf = (id) => id.slice(id.indexOf(" ") + 1);
  const unfold = (id) => open(ownerOf(id), around.unfolded([id]));
  const expand = (cui) => {
    const ids = around.undrawn(cui);
    if (ids.length) open(cui, around.unfolded(ids));
  };
  const families = new Families({ members: (id) => around.members(id), unfold,
    choose: (id, cui) => open(ownerOf(id), around.chosen(id, cui)) }, signal);
  const colour = el("select", { id: "colour-choice", onchange: () => go(to({ colour: colour.value })) },
    COLOURINGS.map(([value, text]) => el("option", { value }, text)));

  /** Shows what another address of this neighbourhood asks for, in the same picture. */
  function follow(next) {
    const opened = next.open !== requested.open;
    Object.assign(requested, next);
    pending = pending.then(() => reported(trouble, signal, async () => { // one after the other
      const before = around.nodes.size;
      if (opened) {
        around.open(next.open);
        await around.grow();
      }
      fill(trouble);
      draw();
      const more = around.nodes.size - before;
      if (opened) announce(`${counted(Math.abs(more), more < 0 ? "concept" : "more concept")} ${more < 0 ? "taken away" : "drawn"}`);
    }));
  }

  /** How concepts are coloured: from two hops on by vocabulary, if there are several. */
  function colouringOf(nodes) {
    if (requested.colour) return requested.colour;
    return requested.hops > 1 && groups(nodes, "vocabulary").legend.length > 1 ? "vocabulary" : "none";
  }

  /** Draws what is there now; `near` stays where it is. */
  function draw() {
    const nodes = [...around.nodes.values()].sort(byName);
    colour.value = colouringOf(nodes);
    colouring = groups(nodes, colour.value);
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
    const has = (kind) => frames.some((frame) => frame.kind === kind);
    picture.draw(boxes, drawn.map((edge) => ({ ...edge, sides: true })), { centre: around.nodes.has(near) ? near : around.centre, frames, legend: [
      { kind: "sides", text: "← left: broader · right: narrower →" },
      { kind: colouring.of.get(around.centre)?.kind ?? "end", strong: true, text: "centre" },
      ...colouring.legend,
      ...(has("siblings") ? [{ kind: "siblings", text: "below: siblings, which share a broader concept" }] : []),
      ...(has("coparents") ? [{ kind: "coparents", text: "above: concepts that share a narrower one" }] : []),
      ...(folds.length ? [{ kind: "folded", text: "concepts that are not drawn" }] : []),
      ...(has("family") ? [{ kind: "family", text: "frame: all concepts in it share this edge" }] : []),
    ] });
    const node = boxes.find(({ id }) => id === picture.selected());
    const focused = chosen.contains(document.activeElement);
    if (node) describe(node);
    if (focused && !chosen.contains(document.activeElement)) picture.canvas.focus();
    fill(others, aside.length > 0 && el("label", { class: "inline" },
      el("input", { type: "checkbox", id: "all", checked: requested.all === "yes",
        onchange: (event) => go(to({ all: event.target.checked ? "yes" : "" })) }), ` Also draw the other ${aside.length === 1 ? "is_a edge" : counted(aside.length, "is_a edge")}`));
    fill(full, around.full > 0 && `No more than ${grouped(around.full)} concepts are drawn. Choose fewer hops, or a narrower centre.`);
    full.className = around.full > 0 ? "notice" : "";
    families.show(folds, around.nodes);
    const beyond = nodes.length - 1 - around.within();
    ondraw(`${grouped(around.within())} drawn${beyond ? `, and ${grouped(beyond)} beyond` : ""}`, nodes.map((node) => node.cui));
  }

  return {
    root: el("section", { "aria-label": "Picture" }, full, trouble, picture.root, chosen, others, families.root),
    controls: el("label", {}, "Colour by ", colour),
    picture,
    draw,
    follow,
    within: () => around.within(),
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
      note: [cui === centre ? "centre" : hops === null ? "beyond" : counted(hops, "hop"), group?.text].filter(Boolean).join(", ") });
  });
}
