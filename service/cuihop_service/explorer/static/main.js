// Begins the explorer: the release, the views by address, the key, the appearance.

import "./appearance.js";
import { el, fill, announce, grouped } from "./dom.js";
import { here, address } from "./address.js";
import { Problem, Service, key } from "./service.js";
import { nearestConcepts } from "./name_list.js";
import { problemPanel, useNearest } from "./problems.js";
import { conceptView } from "./concept_view.js";
import { keyView } from "./key_view.js";

/**
 * What every view has.
 * @typedef {{service: Service, release: any, names: (cuis: string[], signal?: AbortSignal) => Promise<Map<string, string|null>>,
 *   captions: import("./caption_view.js").Captions|null,
 *   stay: ((view: string, query: URLSearchParams) => boolean)|null}} App
 * `stay` is set by a view that can follow an address without being shown again: whether it does.
 * @typedef {(app: App, place: HTMLElement, query: URLSearchParams, signal: AbortSignal) => Promise<void>} View
 */

/** The other views come when they are first shown: the library of their pictures weighs more than all else. @type {Record<string, () => Promise<View>>} */
const VIEWS = {
  path: () => import("./path_view.js").then((module) => module.pathView),
  neighbourhood: () => import("./neighbourhood_view.js").then((module) => module.neighbourhoodView),
  comparison: () => import("./comparison_view.js").then((module) => module.comparisonView),
  similarity: () => import("./similarity_view.js").then((module) => module.similarityView),
  captions: () => import("./caption_view.js").then((module) => module.captionView),
};
/** @type {Record<string, View>} */
const loaded = { concept: conceptView };
const SHORT = 12; // digits of a digest that people compare
const AGREED = 10_000; // ms after which all workers serve the same release
const MOST_EXCHANGES = 3;

const main = /** @type {HTMLElement} */ (document.getElementById("main"));
const badges = /** @type {HTMLElement} */ (document.getElementById("badges"));
const forget = /** @type {HTMLButtonElement} */ (document.getElementById("forget"));

/** @type {Map<string, string|null>} */
let nameByCui = new Map();
let showing = new AbortController();
let tier = "";
/** @type {number[]} */
let exchanges = [];

/** @type {App} */
const app = {
  service: new Service((answer) => {
    tier = answer.tier;
    if (app.release && answer.release !== app.release.digest) exchanged();
    else showBadges();
  }, askForKey),
  release: null,
  names,
  captions: null,
  stay: null,
};

/** Names of concepts; null where the release gives none or the key may not see them. */
async function names(cuis, signal) {
  const missing = [...new Set(cuis)].filter((cui) => !nameByCui.has(cui));
  const size = app.release.limits.concepts;
  for (let first = 0; first < missing.length; first += size) {
    const part = missing.slice(first, first + size);
    const answer = await app.service.post("v1/concepts", { cuis: part, names_only: true }, signal);
    part.forEach((cui, place) => nameByCui.set(cui, answer.concepts[place].name));
  }
  return nameByCui;
}

function showBadges() {
  const { release } = app;
  if (!release) return fill(badges);
  const counts = `${grouped(release.concepts)} concepts, ${grouped(release.edges)} is_a edges; digest ${release.digest}`;
  fill(
    badges,
    el("span", { class: "badge", id: "release", title: counts }, "release ", el("b", {}, release.name), " ",
      el("code", {}, release.digest.slice(0, SHORT))),
    tier && el("span", { class: "badge", id: "tier", title: "which part of the service gave the last answer" },
      "from ", el("b", {}, tier)),
  );
}

/** Learns what is served, then shows what the address names. */
async function begin() {
  forget.hidden = !key.get();
  app.stay = null;
  try {
    const release = await app.service.get("v1/release");
    if (release.digest !== app.release?.digest) nameByCui = new Map();
    app.release = release;
    main.dataset.names = release.names ? "shown" : "hidden";
  } catch (error) {
    if (!(error instanceof Problem && error.reason === "NOT_AUTHENTICATED")) fill(main, problemPanel(error, begin));
    return;
  }
  showBadges();
  await show();
}

/** Shows what the address names. */
async function show() {
  if (!app.release) return begin();
  const { view, query } = here();
  if (app.stay?.(view, query)) return;
  app.stay = null;
  showing.abort();
  showing = new AbortController();
  const { signal } = showing;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.getAttribute("data-view") === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  takeAlong(view, query);
  if (!loaded[view] && !VIEWS[view]) {
    fill(main, el("section", { class: "problem", role: "alert" }, el("h1", {}, "There is no such view"),
      el("p", {}, el("a", { href: address("") }, "Begin with a search"))));
    return;
  }
  main.dataset.view = view;
  const focused = document.activeElement;
  try {
    loaded[view] ??= await VIEWS[view]().catch(() => {
      throw new Problem({ reason: "NO_ANSWER" });
    });
    if (signal.aborted) return;
    const done = loaded[view](app, main, query, signal);
    keepFocus(focused);
    await done;
    if (!signal.aborted && document.activeElement === main) keepFocus(focused); // what had it may have come with the answer
  } catch (error) {
    if (signal.aborted) return;
    app.stay = null;
    fill(main, problemPanel(error, loaded[view] ? show : () => location.reload())); // a browser keeps a script that failed until then
  }
}

/** Has the links to the other views begin with the concept that is shown: what was found need not be typed again. */
function takeAlong(view, query) {
  const cui = view === "path" || view === "similarity" ? query.get("a") : view === "comparison" ? null : query.get("cui");
  const fields = { concept: "cui", path: "a", neighbourhood: "cui", similarity: "a" };
  for (const [other, field] of Object.entries(fields)) {
    const link = document.querySelector(`nav a[data-view="${other}"]`);
    const fresh = other === "concept" ? address("") : address(other);
    link.setAttribute("href", cui && other !== view ? address(other, { [field]: cui, b: field === "a" && query.get("b") }) : fresh);
  }
}

/** Puts the focus on the element that took the place of the one that had it; else, after a step, on the view. */
function keepFocus(before) {
  if (before?.id && before !== main) document.getElementById(before.id)?.focus();
  if (document.activeElement === document.body && before && before !== document.body) main.focus();
}

/** Begins again with the release that took the place of the other; not for ever, while workers do not agree yet. */
function exchanged() {
  const now = performance.now();
  exchanges = [...exchanges.filter((then) => now - then < AGREED), now];
  if (exchanges.length <= MOST_EXCHANGES) begin();
}

/** @param {Problem} problem why not @param {boolean} sent whether a key was sent */
function askForKey(problem, sent) {
  showing.abort();
  key.forget();
  forget.hidden = true;
  app.release = null;
  showBadges();
  keyView(main, sent ? problem : null, begin);
}

forget.addEventListener("click", () => {
  key.forget();
  app.release = null;
  app.captions = null;
  announce("The key is forgotten");
  begin();
});

addEventListener("keydown", (event) => {
  const typing = event.target instanceof HTMLElement && event.target.matches("input, textarea, select");
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    main.querySelector("input, textarea")?.focus();
  }
});
useNearest((text) => nearestConcepts(app, text));
addEventListener("hashchange", show);
begin();
