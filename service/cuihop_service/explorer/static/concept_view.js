// Search, and the card of one concept.

import { el, fill, copyButton, grouped, counted, announce } from "./dom.js";
import { address, conceptAddress, go } from "./address.js";
import { conceptField } from "./concept_field.js";
import { lineage, pageByPage } from "./lineage.js";
import { isCode, reported } from "./problems.js";
import { cypherPanel, conceptCypher } from "./cypher.js";
import { NO_NAMES } from "./names.js";
import { rowOfLeftOut, saveButtons } from "./saving.js";
import { namedNeighbourhood, wholeNeighbourhood } from "./whole_neighbourhood.js";

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
    showCard(app, card, query, concept, signal);
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
      entry("Similarity", "similarity", "How similar two concepts are by nine measures, on a scale of random pairs."),
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

function showCard(app, card, query, concept, signal) {
  const requested = query.get("cui");
  const title = concept.name ?? concept.cui;
  document.title = `${title} – cuihop`;
  const parents = el("ul", { class: "related" });
  const children = el("ul", { class: "related" });
  const button = (text, view, query) => el("a", { class: "button", href: address(view, query) }, text);
  fill(
    card,
    el(
      "article",
      { class: "card" },
      concept.cui !== requested && el("p", { class: "notice" },
        `${requested} ${isCode(requested, concept.cui) ? "stands for this concept" : "is retired; this is its successor"}.`),
      el("h1", {}, title),
      el("p", { class: "row" }, el("code", { class: "cui" }, concept.cui),
        copyButton("Copy identifier", concept.cui), concept.name && copyButton("Copy name", concept.name),
        copyButton("Copy link", () => location.href)),
      concept.names_hidden && el("p", { class: "notice" }, `${NO_NAMES}.`),
      el("p", { class: "row" },
        button("Compare with…", "comparison", { a: concept.cui }), button("Path to…", "path", { a: concept.cui }),
        button("Similarity to…", "similarity", { a: concept.cui }), button("Neighbourhood", "neighbourhood", { cui: concept.cui })),
      el("div", { class: "halves" },
        el("div", {},
          concept.semantic_types.length > 0 && el("ul", { class: "chips", "aria-label": "Semantic types" },
            concept.semantic_types.map((type) => el("li", {}, type.name, " ", el("small", {}, type.tui)))),
          concept.sabs?.length > 0 && el("p", { class: "vocabularies", title: "source vocabularies that assert an is_a edge of it" },
            el("b", {}, "Vocabularies: "), concept.sabs.join(", ")),
          synonyms(concept.synonyms),
          codes(concept.codes ?? []),
          definitions(concept.definitions ?? []),
          el("section", { "aria-label": "Parents" },
            el("h2", {}, counted(concept.parents, "parent"), el("small", {}, " broader")), parents)),
        el("div", {},
          lineage(app, concept, query, signal),
          el("section", { "aria-label": "Children" },
            el("h2", {}, counted(concept.children, "child", "children"), el("small", {}, " narrower")), children))),
    ),
    cypherPanel(conceptCypher(concept.cui)),
    savings(app, concept, title, signal),
  );
  announce(`${title}, ${counted(concept.parents, "parent")}, ${counted(concept.children, "child", "children")}`);
  let [queue, failed] = [Promise.resolve(), false];
  /** Says later which vocabularies assert an edge, one after the other: nobody waits for them. None after one that failed. */
  const sources = (child, parent) => {
    const place = el("small", { class: "sabs" });
    queue = queue.then(() => failed || reported(place, signal, async () => {
      failed = true;
      const step = await app.service.get("v1/path", { a: child, b: parent, direction: "up", max_hops: 1 }, signal);
      failed = false;
      place.textContent = (step.path?.[1]?.sabs ?? []).join(", ");
    }));
    return place;
  };
  listOf(app, parents, concept, "up", (cui) => sources(concept.cui, cui), signal);
  listOf(app, children, concept, "down", (cui) => sources(cui, concept.cui), signal);
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
  const heading = el("h2", { tabindex: "-1" }, counted(all.length, "definition"));
  const show = (few) => el("dl", { class: "definitions" }, few.map(({ sab, text }) => [el("dt", {}, sab), el("dd", {}, text)]));
  return el("section", { "aria-label": "Definitions" }, heading,
    firstOf(el("div", {}), all, DEFINITIONS, show, (left) => counted(left, "more definition"), () => heading.focus())); // the button is gone
}

/** Its codes in vocabularies, best first; those that are not active say so. */
function codes(all) {
  const text = ({ sab, code, mark }) => `${sab} ${code}${mark === "active" ? "" : ` (${mark})`}`;
  const show = (few) => [el("b", {}, "Codes: "), few.map(text).join(" · "), " "];
  return all.length > 0 && firstOf(el("p", { class: "synonyms" }), all, SYNONYMS, show, (left) => `${grouped(left)} more`);
}

function synonyms(all) {
  const show = (few) => [el("b", {}, "Also: "), few.join(" · "), " "];
  return all.length > 0 && firstOf(el("p", { class: "synonyms" }), all, SYNONYMS, show, (left) => `${grouped(left)} more`);
}

/** Fills a place with what shows the first ones, and a button for all. */
function firstOf(place, all, most, show, text, onmore = () => {}) {
  fill(place, show(all.slice(0, most)), all.length > most && el("button", { type: "button", class: "quiet small", onclick: () => {
    fill(place, show(all));
    onmore();
  } }, text(all.length - most)));
  return place;
}

/** Parents or children by name, page by page. @param {(cui: string) => HTMLElement} sources what stands behind each */
function listOf(app, list, concept, direction, sources, signal) {
  if ((direction === "up" ? concept.parents : concept.children) === 0) return;
  fill(list, el("li", { class: "waiting" }, "Loading …"));
  reported(list, signal, async () => {
    const all = await namedNeighbourhood(app, { cui: concept.cui, hops: 1, direction }, signal);
    fill(list);
    pageByPage(list, all.concepts, all.total, ({ cui, name }) =>
      el("li", {}, el("a", { href: conceptAddress(cui) }, name ?? cui), " ", el("code", {}, cui), " ", sources(cui)));
  });
}
