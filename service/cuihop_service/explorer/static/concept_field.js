// A field for concepts, with type-ahead: the combobox pattern of the ARIA Authoring Practices.

import { el, fill, counted } from "./dom.js";
import { Problem, isCancelled } from "./service.js";
import { inWords } from "./problems.js";
import { NO_NAMES } from "./names.js";

const PAUSE = 150; // ms after the last key
const HITS = 12;
const SABS = 4; // vocabularies named in the list
const LIST = /[,;|\t\n]/; // what stands between names
const OTHERWISE = { form: "another form", spelling: "spelt otherwise", part: "some of the words" }; // kinds of matches

/** @typedef {{cui: string, name: string|null, note: string}} Choice */

/**
 * @param {import("./main.js").App} app
 * @param {{label: string, hint?: string, large?: boolean, chips?: HTMLElement, onlist?: (text: string) => void,
 *   onchoose: (cui: string, name: string|null) => void}} options what is chosen leaves the text empty; `chips`
 *   stand within the field, and `onlist` then gets what was pasted, or typed and left
 * @returns {{root: HTMLElement, input: HTMLInputElement, status: HTMLElement}}
 */
export function conceptField(app, { label, hint, large = false, chips, onlist, onchoose }) {
  const id = label.toLowerCase().replaceAll(" ", "-"); // the same when the view is shown again: the focus stays
  const list = el("ul", { role: "listbox", id: `${id}-list`, "aria-label": `Concepts for: ${label}`, hidden: true });
  const status = el("p", { class: "status", role: "status", id: `${id}-status` });
  const input = el("input", {
    id, type: "text", role: "combobox", autocomplete: "off", autocapitalize: "off", spellcheck: "false",
    "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": `${id}-list`,
    "aria-describedby": `${id}-status`, placeholder: hint ?? (app.release.names ? "name, synonym or identifier" : "identifier"),
  });
  const root = el(
    "div",
    { class: large ? "field large" : "field" },
    el("label", { for: id }, label),
    el("div", { class: chips ? "combo picks" : "combo" }, chips, input, list),
    status,
  );
  /** @type {Choice[]} */
  let choices = [];
  let active = -1;
  let listed = ""; // the text that the choices belong to
  /** @type {Map<string, string>} */
  const about = new Map(); // semantic types and vocabularies, once they are known
  let wantsFirst = false; // Enter came before the answer
  let timer = 0;
  /** @type {AbortController|null} */
  let asking = null;
  function empty() {
    input.value = "";
    status.textContent = "";
    close();
  }

  /** Hands over a text that is more than the beginning of a name. */
  function handOver(text) {
    empty();
    onlist?.(text);
  }

  function close() {
    clearTimeout(timer);
    asking?.abort();
    wantsFirst = false;
    choices = [];
    active = -1;
    listed = "";
    list.hidden = true;
    fill(list);
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  function choose(place) {
    const { cui, name } = choices[place];
    empty();
    onchoose(cui, name);
  }

  function mark(place) {
    active = place;
    [...list.children].forEach((item, i) => item.setAttribute("aria-selected", String(i === place)));
    if (place < 0) {
      input.removeAttribute("aria-activedescendant");
    } else {
      input.setAttribute("aria-activedescendant", list.children[place].id);
      list.children[place].scrollIntoView({ block: "nearest" });
    }
  }

  async function ask() {
    const text = input.value.trim();
    asking?.abort();
    if (!text) {
      close();
      status.textContent = "";
      return;
    }
    const own = (asking = new AbortController());
    try {
      const found = await suggestions(app, text, own.signal);
      if (own !== asking) return;
      choices = found.choices;
      listed = text;
      fill(list, choices.map((choice, place) => option(choice, `${id}-${place}`, about.get(choice.cui), () => choose(place))));
      list.hidden = choices.length === 0;
      input.setAttribute("aria-expanded", String(choices.length > 0));
      mark(-1);
      status.textContent = found.note ?? counts(choices.length);
      if (wantsFirst && choices.length) choose(0);
      else await addDetails(own.signal);
    } catch (error) {
      if (isCancelled(error) || own !== asking) return;
      close();
      const again = el("button", { type: "button", class: "quiet small", onclick: () => ask() }, "Try again");
      const words = error instanceof Problem ? inWords(error)[0] : "A fault in this page";
      fill(status, `${words}. `, again);
    }
  }

  /** Adds semantic types and vocabularies, which distinguish concepts of one name. The list is whole without them. */
  async function addDetails(signal) {
    const requested = choices.map((choice) => choice.cui).filter((cui) => !about.has(cui)).slice(0, app.release.limits.concepts);
    if (!requested.length) return;
    const answer = await app.service.post("v1/concepts", { cuis: requested }, signal).catch(() => null);
    if (!answer || signal.aborted) return;
    answer.concepts.forEach((concept, place) => about.set(requested[place], inShort(concept)));
    choices.forEach((choice, place) => {
      const line = list.children[place].querySelector(".about");
      if (line) line.textContent = about.get(choice.cui) ?? "";
    });
  }

  input.addEventListener("input", () => {
    asking?.abort(); // its answer would be one to another text
    wantsFirst = false;
    clearTimeout(timer);
    timer = setTimeout(ask, PAUSE);
  });
  input.addEventListener("keydown", (event) => {
    const last = choices.length - 1;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (last < 0) ask();
      else if (event.key === "ArrowDown") mark(active < last ? active + 1 : 0);
      else mark(active > 0 ? active - 1 : last);
    } else if (event.key === "Enter") {
      event.preventDefault();
      const current = active >= 0 || input.value.trim() === listed; // else the list is that of a text typed before
      if (chips && active < 0 && LIST.test(input.value)) handOver(input.value);
      else if (last >= 0 && current) choose(Math.max(0, active));
      else if (input.value.trim()) {
        clearTimeout(timer);
        ask();
        wantsFirst = true;
      }
    } else if (event.key === "Escape") {
      if (list.hidden) empty();
      else close();
    }
  });
  input.addEventListener("focus", () => input.select());
  input.addEventListener("blur", () => {
    if (chips && input.value.trim() && document.activeElement !== input) handOver(input.value); // of the field, not of the window
    else close();
  });
  if (chips) {
    input.addEventListener("paste", (event) => {
      const text = event.clipboardData?.getData("text") ?? "";
      if (!LIST.test(text) && !/^\s*C\d{7}\b/i.test(text)) return; // a name may be meant otherwise: it has suggestions
      event.preventDefault();
      handOver(`${input.value} ${text}`);
    });
  }
  return { root, input, status };
}

function counts(found) {
  if (found === 0) return "No concept found; try other words";
  return found < HITS ? counted(found, "concept") : `The first ${HITS} concepts; type more to narrow them down`;
}

/** @param {any} concept a record of the service */
function inShort({ semantic_types: types, sabs = [], parents, children }) {
  const names = types.map((type) => type.name).join(", ");
  const more = sabs.length > SABS ? ` and ${sabs.length - SABS} more` : "";
  const vocabularies = sabs.slice(0, SABS).join(", ") + more;
  const note = [names, vocabularies].filter(Boolean).join(" · ");
  return note || `${counted(parents, "parent")}, ${counted(children, "child", "children")}`;
}

function option(choice, id, about, chosen) {
  const item = el(
    "li",
    { role: "option", id, "aria-selected": "false" },
    el("span", { class: "name" }, choice.name ?? choice.cui),
    " ",
    el("code", {}, choice.cui),
    choice.note && [" ", el("span", { class: "note" }, choice.note)],
    el("span", { class: "about" }, about ?? ""),
  );
  item.addEventListener("mousedown", (event) => {
    event.preventDefault(); // the field keeps the focus
    chosen();
  });
  return item;
}

/** What a text may mean: concepts by name, and what became of an identifier that is retired. */
async function suggestions(app, typed, signal) {
  const text = /^c\d{7}$/i.test(typed) ? typed.toUpperCase() : typed;
  const anyForm = app.release.identifiers !== "cui" && !app.release.names; // else the search finds those without a digit
  const mayBeIdentifier = (anyForm || /\d/.test(text)) && !/\s/.test(text);
  const [hits, resolution] = await Promise.all([
    app.release.names ? app.service.get("v1/search", { text, limit: HITS }, signal).then((a) => a.hits) : [],
    mayBeIdentifier ? resolved(app, text, signal) : null,
  ]);
  /** @type {Choice[]} */
  const choices = hits.map((hit) => ({ cui: hit.cui, name: hit.name, note: why(hit, resolution) }));
  if (!resolution) {
    const needs = !app.release.names && !mayBeIdentifier;
    return { choices, note: needs ? `${NO_NAMES}. Give an identifier` : null };
  }
  if (resolution.cui && !choices.some((choice) => choice.cui === resolution.cui)) {
    choices.unshift({ cui: resolution.cui, name: null, note: standsFor(resolution) });
  }
  if (!["retired", "several"].includes(resolution.status)) return { choices, note: null };
  const named = await app.names(resolution.candidates.map((found) => found.cui), signal).catch(() => new Map());
  for (const { cui, relation } of resolution.candidates) {
    const note = relation === "code" ? `concept of ${resolution.requested}` : `suggested (${relation}) for ${resolution.requested}, retired`;
    choices.push({ cui, name: named.get(cui) ?? null, note });
  }
  const problem = resolution.status === "several" ? "is a code of several concepts" : "is retired without one exact successor";
  return { choices, note: `${resolution.requested} ${problem}` };
}

/** Why another concept answers for an identifier. */
function standsFor({ status, requested }) {
  return { merged: `successor of ${requested}, retired`, code: `concept of ${requested}` }[status] ?? "";
}

async function resolved(app, text, signal) {
  const answer = await app.service.post("v1/resolutions", { cuis: [text] }, signal);
  return answer.resolutions[0];
}

/** Why a hit is one, where its name does not show it. */
function why(hit, resolution) {
  if (resolution?.cui === hit.cui && standsFor(resolution)) return standsFor(resolution);
  const also = hit.matched === hit.name || hit.matched === hit.cui ? "" : `also: ${hit.matched}`;
  return [also, OTHERWISE[hit.kind]].filter(Boolean).join("; ");
}
