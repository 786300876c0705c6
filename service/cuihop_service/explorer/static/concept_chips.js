// A field for several concepts: each is a chip. Names are typed with suggestions, or pasted as a list.

import { el, fill, announce, counted } from "./dom.js";
import { conceptField } from "./concept_field.js";
import { described, understood } from "./name_list.js";
import { NO_NAMES } from "./names.js";
import { inWords } from "./problems.js";
import { Problem, isCancelled } from "./service.js";

/**
 * @param {import("./main.js").App} app
 * @param {{label: string, cuis?: string[], most?: number, hint?: string, onchange: (cuis: string[]) => void, signal: AbortSignal}} options
 *   `cuis` are there from the beginning; with `most` 1 a concept takes the place of the one before; `onchange` is called
 *   with the identifiers after each change by the user, retired and unknown ones too
 * @returns {{root: HTMLElement, input: HTMLInputElement, cuis: () => string[], set: (cuis: string[]) => void,
 *   add: (text: string) => Promise<void>}} `set` changes the chips without calling `onchange`; `add` takes a list as if pasted
 */
export function conceptChips(app, { label, cuis = [], most = Infinity, hint, onchange, signal }) {
  const list = el("ul", { class: "held", "aria-label": `Chosen: ${label}`, hidden: true });
  const field = conceptField(app, { label, chips: list, onlist: add,
    hint: hint ?? (app.release.names ? "names or identifiers, or a list of them" : "identifiers"),
    onchoose: (cui, name) => take([{ cui, name, note: "", text: cui, hits: [] }]) });
  /** @type {import("./name_list.js").Entry[]} */
  let entries = [];
  const chosen = () => entries.map((entry) => entry.cui).filter(Boolean);

  /** Adds entries, each concept once. */
  function take(more) {
    const all = most === 1 && more.length ? more : [...entries, ...more];
    const seen = new Set();
    const key = (entry) => entry.cui || ` ${entry.text}`;
    change(all.filter((entry) => !seen.has(key(entry)) && seen.add(key(entry))).slice(-most));
  }

  function change(next) {
    const before = chosen().join(" ");
    entries = next;
    show();
    announce(`${counted(chosen().length, "concept")}: ${label}`);
    if (chosen().join(" ") !== before) onchange(chosen());
  }

  async function add(text) {
    list.setAttribute("aria-busy", "true");
    field.status.textContent = "Looking the names up …";
    try {
      const more = await understood(app, text, signal);
      field.status.textContent = "";
      take(more);
    } catch (error) {
      if (isCancelled(error) || signal.aborted) return;
      const words = error instanceof Problem ? inWords(error)[0] : "A fault in this page";
      fill(field.status, `${words}. `, el("button", { type: "button", class: "quiet small", onclick: () => add(text) }, "Try again"));
    } finally {
      list.removeAttribute("aria-busy");
    }
  }

  function show() {
    list.hidden = entries.length === 0;
    fill(list, entries.map(chip));
    const open = entries.length - chosen().length;
    const without = app.release.names || !open ? "" : `. ${NO_NAMES}`;
    field.status.textContent = entries.length ? `${counted(chosen().length, "concept")}${open ? `; ${open} not understood${without}` : ""}` : "";
  }

  function chip(entry) {
    const named = entry.name ?? (entry.cui || entry.text);
    const replace = (others, focused) => {
      const i = entries.indexOf(entry);
      const held = new Set(chosen());
      change([...entries.slice(0, i), ...others.filter(({ cui }) => !held.has(cui)), ...entries.slice(i + 1)]);
      (list.querySelectorAll("button.remove")[focused(i)] ?? field.input).focus();
    };
    const alike = entry.hits.some((hit, i) => entry.hits.findIndex(({ name }) => name === hit.name) < i);
    return el("li", { class: entry.cui ? "" : "unclear", "data-cui": entry.cui || null },
      entry.cui ? el("span", {}, entry.name ?? "") : `“${entry.text}”`, entry.cui && entry.name && " ", entry.cui && el("code", {}, entry.cui),
      entry.note && el("small", {}, ` ${entry.note} `),
      entry.hits.map((hit) => el("button", { type: "button", class: "quiet small", title: hit.cui,
        onclick: () => replace([{ ...hit, note: "", text: hit.cui, hits: [] }], (i) => i) },
      hit.name ?? hit.cui, alike && hit.name && [" ", el("code", {}, hit.cui)])),
      el("button", { type: "button", class: "remove", "aria-label": `Remove ${named}`, onclick: () => replace([], (i) => Math.min(i, entries.length - 1)) }, "×"));
  }

  function set(next) {
    entries = next.map((cui) => ({ cui, name: null, note: "", text: cui, hits: [] }));
    show();
    if (!entries.length) return;
    described(app, next, signal).then((found) => { // the chips are there without it
      const of = new Map(found.map((entry) => [entry.cui, entry]));
      entries = entries.map((entry) => of.get(entry.cui) ?? entry);
      show();
    }).catch(() => null);
  }

  field.input.addEventListener("keydown", (event) => {
    if (event.key !== "Backspace" || field.input.value || !entries.length) return;
    event.preventDefault();
    change(entries.slice(0, -1));
  });
  set(cuis);
  return { root: field.root, input: field.input, cuis: chosen, set, add };
}
