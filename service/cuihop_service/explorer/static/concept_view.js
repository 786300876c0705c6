// Search, and the card of one concept.

import { el, fill, copyButton, grouped, counted, announce } from "./dom.js";
import { address, conceptAddress, go } from "./address.js";
import { conceptField } from "./concept_field.js";
import { reported } from "./problems.js";
import { cypherPanel, conceptCypher } from "./cypher.js";
import { NO_NAMES } from "./names.js";
import { rowOfLeftOut, saveButtons } from "./saving.js";
import { namedNeighbourhood, wholeNeighbourhood } from "./whole_neighbourhood.js";

const PAGE = 25;
const SYNONYMS = 12;
const DEFINITIONS = 3;

/** @type {import("./main.js").View} */
export async function conceptView(app, place, query, signal) {
  const cui = query.get("cui") ?? "";
  const field = conceptField(app, {
    label: "Search for a concept",
    large: true,
    hint: app.release.names ? "name, synonym or identifier" : "identifier",
    onchoose: (chosen) => go(conceptAddress(chosen)),
  });
  const card = el("div", { id: "card" });
  const heading = cui ? el("h1", { class: "unseen" }, "Concept") : el("h1", {}, "How near are two concepts?");
  fill(place, heading, field.root, card);
  if (!cui) {
    document.title = "cuihop explorer";
    welcome(app, card, signal);
    field.input.focus();
    return;
  }
  fill(card, el("p", { class: "waiting" }, "Loading …"));
  await reported(card, signal, async () => {
    const concept = await app.service.get("v1/concept", { cui }, signal);
    heading.remove(); // the card has one of its own
    showCard(app, card, cui, concept, signal);
  });
}

const BRAIN = "C0006104"; // a parent of the first example

/** Concepts to begin with: general ones of medicine, and dog, cat and car of WordNet 3.0, as far as the release holds them. */
const EXAMPLES = ["C0006121", "C0018670", "C0024109", "C0018787", "C0032285", "C0040405", "C0012634",
  "02084071-n", "02121620-n", "02958343-n"];

async function showExamples(app, place, signal) {
  const { resolutions } = await app.service.post("v1/resolutions", { cuis: [...EXAMPLES, BRAIN] }, signal);
  const held = resolutions.map((found) => found.status === "current" && found.cui);
  const brain = held.pop();
  const cuis = held.filter(Boolean);
  if (!cuis.length && app.release.names) {
    const { hits } = await app.service.get("v1/search", { text: "a", limit: 3 }, signal);
    cuis.push(...hits.map((hit) => hit.cui));
  }
  if (!cuis.length) return;
  const [a, b] = cuis;
  const comparison = b ? await exampleOfComparison(app, a, b, brain, signal) : null;
  const names = await app.names([...cuis, ...(comparison?.b ?? [])], signal);
  const name = (cui) => names.get(cui) ?? cui;
  const set = (all) => `{${all.map(name).join(", ")}}`;
  fill(place, el("h2", {}, "Begin with an example"),
    el("ul", { class: "chips" }, cuis.map((cui) => el("li", {}, el("a", { href: conceptAddress(cui) }, name(cui))))),
    el("ul", { class: "related" },
      b && el("li", {}, el("a", { href: address("path", { a, b }) }, `Path from ${name(a)} to ${name(b)}`)),
      el("li", {}, el("a", { href: address("neighbourhood", { cui: a }) }, `Neighbourhood of ${name(a)}`)),
      comparison && el("li", {}, el("a", { href: address("comparison", { a: comparison.a.join(" "), b: comparison.b.join(" ") }) },
        `Compare ${set(comparison.a)} with ${set(comparison.b)}`),
      `: nn-IoU ${comparison.nnIou.toFixed(4)}, where IoU is ${comparison.iou.toFixed(4)}, as ${name(comparison.b[0])} is near ${name(a)}`)));
  place.className = "card";
}

/** Two sets that have one concept in common and others that are one hop apart: they are nearer than IoU says. */
async function exampleOfComparison(app, first, other, brain, signal) {
  const { neighbours } = await app.service.get("v1/neighbourhood", { cui: first, hops: 1, direction: "up", limit: 50 }, signal);
  const parents = neighbours.map(({ cui }) => cui).filter((cui) => cui !== other);
  if (!parents.length) return null;
  const [a, b] = [[first, other], [parents.includes(brain) ? brain : parents[0], other]];
  const { nn_iou: nnIou, iou } = await app.service.post("v1/relevance", { a, b, n: 1, lambda: 0.5, unknown: "error" }, signal);
  return { a, b, nnIou, iou };
}

function welcome(app, card, signal) {
  const { release } = app;
  const examples = el("section", { id: "examples", "aria-label": "Examples" });
  showExamples(app, examples, signal).catch(() => null); // the page is there without them
  fill(
    card,
    el(
      "div",
      { class: "cards" },
      entry("Path", "path", "How far one concept is from another, and the way there."),
      entry("Neighbourhood", "neighbourhood", "What lies around a concept; large ones come as a table."),
      entry("Compare sets", "comparison", "Which concepts make two images similar."),
      entry("Compare captions", "captions", "The concepts that two texts mention, marked in them, and their nn-IoU."),
    ),
    examples,
    el(
      "section",
      { class: "card" },
      el("h2", {}, "What is loaded"),
      el(
        "dl",
        { class: "facts" },
        fact("Release", release.name),
        fact("Concepts", grouped(release.concepts)),
        fact("is_a edges", grouped(release.edges)),
        fact("Source vocabularies", release.sabs.join(", ") || "not stated"),
        fact("Relations", release.relations.join(", ") || "not stated"),
        fact("Digest", el("code", { class: "break" }, release.digest)),
        fact("Service", release.service_version),
      ),
    ),
  );
}

function entry(title, view, text) {
  return el("a", { class: "card entry", href: address(view) }, el("b", {}, title), el("span", {}, text));
}

function fact(name, value) {
  return [el("dt", {}, name), el("dd", {}, value)];
}

function showCard(app, card, requested, concept, signal) {
  const title = concept.name ?? concept.cui;
  document.title = `${title} – cuihop`;
  const parents = el("ul", { class: "related" });
  const children = el("ul", { class: "related" });
  fill(
    card,
    el(
      "article",
      { class: "card" },
      concept.cui !== requested && el("p", { class: "notice" }, `${requested} is retired; this is its successor.`),
      el("h1", {}, title),
      el("p", { class: "row" }, el("code", { class: "cui" }, concept.cui),
        copyButton("Copy identifier", concept.cui), concept.name && copyButton("Copy name", concept.name),
        copyButton("Copy link", location.href)),
      concept.semantic_types.length > 0 && el("ul", { class: "chips", "aria-label": "Semantic types" },
        concept.semantic_types.map((type) => el("li", {}, type.name, " ", el("small", {}, type.tui)))),
      concept.names_hidden && el("p", { class: "notice" }, `${NO_NAMES}.`),
      concept.sabs?.length > 0 && el("p", { class: "vocabularies", title: "source vocabularies that assert an is_a edge of it" },
        el("b", {}, "Vocabularies: "), concept.sabs.join(", ")),
      synonyms(concept.synonyms),
      definitions(concept.definitions ?? []),
      el("p", { class: "row" },
        el("a", { class: "button", href: address("path", { a: concept.cui }) }, "Path from here"),
        el("a", { class: "button", href: address("neighbourhood", { cui: concept.cui }) }, "Neighbourhood"),
        el("a", { class: "button", href: address("similarity", { a: concept.cui }) }, "Similarity")),
      el("div", { class: "columns" },
        el("section", { "aria-label": "Parents" },
          el("h2", {}, counted(concept.parents, "parent"), el("small", {}, " broader")), parents),
        el("section", { "aria-label": "Children" },
          el("h2", {}, counted(concept.children, "child", "children"), el("small", {}, " narrower")), children)),
    ),
    cypherPanel(conceptCypher(concept.cui)),
    savings(app, concept, title, signal),
  );
  announce(`${title}, ${counted(concept.parents, "parent")}, ${counted(concept.children, "child", "children")}`);
  listOf(app, parents, concept, "up", signal, true);
  listOf(app, children, concept, "down", signal, false);
}

/** The concept with all its parents and children as files. */
function savings(app, concept, title, signal) {
  let held = "";
  const related = async () => {
    const [up, down] = await Promise.all(["up", "down"].map((direction) =>
      wholeNeighbourhood(app, { cui: concept.cui, hops: 1, direction }, signal)));
    const counts = [up, down].map(({ concepts, total }) => [concepts.length - 1, total]);
    held = counts.some(([there, total]) => there < total)
      ? `first-${counts.map(([there, total]) => `${there}-of-${total}`).join("-parents-")}-children` : "";
    return { parents: up.concepts.slice(1), children: down.concepts.slice(1) };
  };
  const row = (relation, { cui, name, semantic_types: types, synonyms: others, parents, children, sabs, definitions: said }) =>
    [relation, cui, name ?? "", types.map((type) => type.name).join("; "), others.join("; "), parents, children,
      (sabs ?? []).join("; "), (said ?? []).map(({ sab, text }) => `${sab}: ${text}`).join(" | ")];
  return saveButtons(app, `concept-${concept.cui}`, title, {
    json: async () => {
      const { parents, children } = await related();
      const brief = (all) => all.map(({ cui, name }) => ({ cui, name }));
      return { ...concept, parent_concepts: brief(parents), child_concepts: brief(children),
        parents_left_out: concept.parents - parents.length, children_left_out: concept.children - children.length };
    },
    csv: async () => {
      const { parents, children } = await related();
      const columns = ["relation", "cui", "name", "semantic_types", "synonyms", "parents", "children", "vocabularies", "definitions"];
      return [columns, row("itself", concept), ...parents.map((near) => row("parent", near)), ...children.map((near) => row("child", near)),
        ...rowOfLeftOut(concept.parents + concept.children - parents.length - children.length, columns.length)];
    },
    part: () => held,
  }, signal);
}

/** What the vocabularies say it is; each with the one that says so. Text, whatever it looks like. */
function definitions(all) {
  if (!all.length) return null;
  const list = el("dl", { class: "definitions" });
  const heading = el("h2", { tabindex: "-1" }, counted(all.length, "definition"));
  const show = (most) => {
    fill(list, all.slice(0, most).map(({ sab, text }) => [el("dt", {}, sab), el("dd", {}, text)]));
    if (all.length > most) {
      const more = el("button", { type: "button", class: "quiet small" }, counted(all.length - most, "more definition"));
      more.addEventListener("click", () => {
        show(all.length);
        heading.focus(); // the button is gone
      });
      list.append(el("dd", {}, more));
    }
  };
  show(DEFINITIONS);
  return el("section", { "aria-label": "Definitions" }, heading, list);
}

function synonyms(all) {
  if (!all.length) return null;
  const list = el("p", { class: "synonyms" });
  const show = (most) => {
    fill(list, el("b", {}, "Also: "), all.slice(0, most).join(" · "));
    if (all.length > most) {
      const more = el("button", { type: "button", class: "quiet small", onclick: () => show(all.length) },
        `${grouped(all.length - most)} more`);
      list.append(" ", more);
    }
  };
  show(SYNONYMS);
  return list;
}

/** Parents or children by name, page by page; for parents also the vocabularies that assert them. */
function listOf(app, list, concept, direction, signal, withSources) {
  const total = direction === "up" ? concept.parents : concept.children;
  if (total === 0) return;
  /** @type {Awaited<ReturnType<typeof namedNeighbourhood>> | null} */
  let all = null;
  const more = async (shown) => {
    const limit = shown + PAGE;
    all ??= await namedNeighbourhood(app, { cui: concept.cui, hops: 1, direction }, signal);
    const rows = all.concepts.slice(shown, limit).map(({ cui, name }) => {
      const sources = el("small", { class: "sabs" });
      return { cui, sources, item: el("li", {}, el("a", { href: conceptAddress(cui) }, name ?? cui), " ",
        el("code", {}, cui), " ", sources) };
    });
    if (shown === 0) fill(list);
    list.querySelector("li.more")?.remove();
    list.append(...rows.map((row) => row.item));
    if (limit < all.concepts.length) list.append(moreItem(limit, all.total));
    if (shown > 0) rows[0]?.item.querySelector("a")?.focus();
    if (withSources) {
      for (const { cui, sources } of rows) { // one after the other: nobody waits for them
        const step = await app.service.get("v1/path", { a: concept.cui, b: cui, direction: "up", max_hops: 1 }, signal);
        sources.textContent = (step.path?.[1]?.sabs ?? []).join(", ");
      }
    }
  };
  const moreItem = (shown, number) => {
    const item = el("li", { class: "more" });
    const button = el("button", { type: "button", class: "quiet small" }, `${grouped(number - shown)} more`);
    button.addEventListener("click", () => reported(item, signal, () => more(shown)));
    item.append(button);
    return item;
  };
  fill(list, el("li", { class: "waiting" }, "Loading …"));
  reported(list, signal, () => more(0));
}
