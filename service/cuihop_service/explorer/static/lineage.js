// All broader concepts of a concept as a tree, from the roots down to it; what else is below them is folded and counted.

import { el, fill, counted, grouped } from "./dom.js";
import { address, conceptAddress, note as keep } from "./address.js";
import { byName } from "./names.js";
import { reported } from "./problems.js";
import { namedNeighbourhood, wholeNeighbourhood } from "./whole_neighbourhood.js";

const MOST = 200; // broader concepts: the nearest
const FAR = 255; // hops
const OPEN = 60; // rows; of a longer tree only the path to the concept is open at first
const PAGE = 25;

/**
 * `again`: the concept has an earlier row, with all that is below it; `leads`: the first row of the centre is below.
 * @typedef {{one: any, rows: Row[], above: Row|null, again: boolean, leads: boolean, item?: HTMLElement,
 *   unfold?: (open: boolean) => void}} Row
 */

/** The tree of a concept as a section, filled when the service has answered. What the user opens or folds is kept in the address. */
export function lineage(app, concept, query, signal) {
  const [turned, listed] = ["turned", "siblings"].map((name) => new Set((query.get(name) ?? "").split(" ").filter(Boolean)));
  const keepIn = (set, cui, isKept) => {
    if (isKept === set.has(cui)) return;
    set[isKept ? "add" : "delete"](cui);
    keep(address("concept", { cui: query.get("cui"), turned: [...turned].join(" "), siblings: [...listed].join(" ") }));
  };
  const place = el("div", {}, el("p", { class: "waiting" }, "Loading …"));
  reported(place, signal, async () => {
    const limit = Math.min(MOST, app.release.limits.neighbours, app.release.limits.pack_concepts - 1);
    const { total, concepts, edges } = await wholeNeighbourhood(app, { cui: concept.cui, hops: FAR, direction: "up", limit }, signal);
    const { rows, first, count, children } = treeOf(concept.cui, concepts, edges ?? []);
    const held = concepts.length - 1;
    const trouble = el("div", {});
    fill(place,
      el("p", { class: "status" }, total === 0 ? "A root: nothing is broader." : [
        held < total ? `The nearest ${grouped(held)} of ${counted(total, "broader concept")}; the roots are further up.`
          : `${counted(total, "broader concept")}.`,
        count > OPEN && ` Of ${grouped(count)} rows one path to this concept is open.`]),
      trouble,
      el("ul", { class: "tree" }, rows.map(itemOf)));

    /** The item of a row; those below are made when they are opened. */
    function itemOf(row) {
      const { one, again } = row;
      const name = one.name ?? one.cui;
      const itself = one.cui === concept.cui;
      const list = el("ul", { hidden: true });
      const twig = el("button", { type: "button", class: "quiet small twig", "aria-expanded": "false",
        "aria-label": `From ${name} down to this concept`, onclick: () => row.unfold(list.hidden) }, "▸");
      const isOpenFirst = count <= OPEN || row.leads;
      row.unfold = (open) => {
        keepIn(turned, one.cui, open !== isOpenFirst);
        list.hidden = !open;
        twig.setAttribute("aria-expanded", String(open));
        twig.textContent = open ? "▾" : "▸";
        if (open && !list.childElementCount) fill(list, row.rows.map(itemOf));
      };
      const others = again || itself ? 0 : one.children - children.get(one.cui).length;
      const note = [one.parents === 0 ? "root" : !row.above && held === total ? "in a cycle" : "", itself && again ? "again" : ""].filter(Boolean);
      row.item = el("li", {},
        row.rows.length ? twig : el("span", { class: "leaf", "aria-hidden": "true" }, itself ? "●" : "·"),
        itself ? el("strong", { "aria-current": "true", tabindex: "-1" }, name) : el("a", { href: conceptAddress(one.cui) }, name), " ",
        el("code", {}, one.cui), " ", note.length > 0 && el("small", {}, note.join(", ")), " ",
        again && !itself && el("button", { type: "button", class: "quiet small", "aria-label": `${name} is shown above: go there`,
          onclick: () => look(first.get(one.cui)) }, "shown above"),
        others > 0 && siblings(row, list, others, one.hops === 1 ? counted(others, "sibling") : counted(others, "more child", "more children")),
        list);
      if (row.rows.length && isOpenFirst !== turned.has(one.cui)) row.unfold(true);
      return row.item;
    }

    /** A button that lists the other children of a concept. */
    function siblings(row, list, others, text) {
      const { cui, name } = row.one;
      const own = new Set(children.get(cui).map((child) => child.cui));
      const button = el("button", { type: "button", class: "quiet small", "aria-expanded": "false",
        "aria-label": `${text} below ${name ?? cui}`, onclick: () => reported(trouble, signal, async () => {
          fill(trouble);
          const before = list.querySelectorAll(":scope > :is(.sibling, .more)");
          button.setAttribute("aria-expanded", String(!before.length));
          keepIn(listed, cui, !before.length);
          if (before.length) return void before.forEach((item) => item.remove());
          row.unfold(true);
          const all = await namedNeighbourhood(app, { cui, hops: 1, direction: "down" }, signal);
          pageByPage(list, all.concepts.filter((child) => !own.has(child.cui)), others, (child) => el("li", { class: "sibling" },
            el("span", { class: "leaf", "aria-hidden": "true" }, "·"), el("a", { href: conceptAddress(child.cui) }, child.name ?? child.cui), " ",
            el("code", {}, child.cui)));
        }) }, text);
      if (listed.has(cui)) setTimeout(() => button.click());
      return button;
    }
  });
  return el("section", { "aria-label": "From the root", id: "lineage" }, el("h2", {}, "From the root down"), place);
}

/** Goes to a row, wherever it is folded. */
function look(row) {
  const ways = [];
  for (let above = row.above; above; above = above.above) ways.unshift(above);
  for (const above of ways) above.unfold(true);
  row.item.querySelector("a, strong").focus();
}

/**
 * A graph as a tree: below each concept those that lead to the centre, the nearest to it first. What is below a concept
 * stands at its first row only.
 * @param {string} centre @param {any[]} concepts nearest first, the centre before all @param {import("./boxes.js").Edge[]} edges
 * @returns {{rows: Row[], first: Map<string, Row>, count: number, children: Map<string, any[]>}} `first` row of each
 *   concept; `children` of each that are in the tree
 */
function treeOf(centre, concepts, edges) {
  const byCui = new Map(concepts.map((one) => [one.cui, one]));
  const children = new Map(concepts.map(({ cui }) => [cui, []]));
  const below = new Set();
  for (const { from, to } of edges) {
    if (to === centre) continue; // a cycle
    children.get(to).push(byCui.get(from));
    below.add(from);
  }
  const soonest = (one, other) => one.hops - other.hops || byName(one, other);
  const first = new Map();
  let count = 0;
  const rowOf = (one, above) => {
    count += 1;
    const row = { one, above, rows: [], again: first.has(one.cui), leads: false };
    if (row.again) return row;
    first.set(one.cui, row);
    row.rows = children.get(one.cui).sort(soonest).map((child) => rowOf(child, row));
    row.leads = one.cui === centre || row.rows.some((child) => child.leads);
    return row;
  };
  const rows = concepts.filter(({ cui }) => !below.has(cui)).sort(soonest).map((one) => rowOf(one, null));
  for (const one of [...concepts].reverse()) if (!first.has(one.cui)) rows.push(rowOf(one, null)); // above it is a cycle
  return { rows, first, count, children };
}

/** Appends concepts to a list, `PAGE` at a time; `total` counts those too that are not listed. */
export function pageByPage(list, concepts, total, itemOf, start = 0) {
  const items = concepts.slice(start, start + PAGE).map(itemOf);
  list.querySelector(":scope > .more")?.remove();
  list.append(...items);
  if (start > 0) items[0]?.querySelector("a")?.focus();
  if (start + PAGE >= concepts.length) return;
  list.append(el("li", { class: "more" }, el("button", { type: "button", class: "quiet small",
    onclick: () => pageByPage(list, concepts, total, itemOf, start + PAGE) }, `${grouped(total - start - PAGE)} more`)));
}
