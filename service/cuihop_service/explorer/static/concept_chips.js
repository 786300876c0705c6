// A field for concepts: each is a chip. Names are typed with suggestions, or pasted as a list.

import { el, fill, announce, counted } from "./dom.js";
import { conceptField } from "./concept_field.js";
import { described, understood, withNearest } from "./name_list.js";
import { NO_NAMES } from "./names.js";
import { inWords } from "./problems.js";
import { Problem, isCancelled } from "./service.js";

/**
 * @param {import("./main.js").App} app
 * @param {{label: string, cuis?: string[], most?: number,
 *   onchange: (cuis: string[], entries: import("./name_list.js").Entry[]) => void, signal: AbortSignal}} options
 *   `cuis` are there from the beginning; `onchange` is called after each change by the user with the identifiers, retired
 *   and unknown ones too. With `most` new concepts take the place of those before, and `onchange` is not called while there
 *   are more, or one is not understood
 * @returns {{root: HTMLElement, input: HTMLInputElement}}
 */
export function conceptChips(app, { label, cuis = [], most = Infinity, onchange, signal }) {
  const list = el("ul", { class: "held", "aria-label": `Chosen: ${label}`, hidden: true });
  const field = conceptField(app, { label, chips: list, onlist: add,
    hint: most < Infinity ? undefined : app.release.names ? "names or identifiers, or a list of them" : "identifiers",
    onchoose: (cui, name) => take([{ cui, name, note: "", text: cui, hits: [] }]) });
  /** @type {(import("./name_list.js").Entry & {settled?: boolean})[]} `settled`: `onchange` knows it */
  let entries = [];
  const chosen = () => entries.map((entry) => entry.cui).filter(Boolean);
  let reported = cuis.join(" ");
  const hint = field.input.placeholder;

  /** Adds entries, each concept once. */
  function take(more) {
    const seen = new Set();
    const key = (entry) => entry.cui || ` ${entry.text}`;
    change([...entries, ...more].filter((entry) => !seen.has(key(entry)) && seen.add(key(entry))));
  }

  function change(next) {
    const replaces = most < Infinity && next.some((entry) => entry.cui && !entry.settled);
    entries = replaces ? next.filter((entry) => !entry.settled) : next;
    show();
    announce(`${counted(chosen().length, "concept")}: ${label}`);
    const open = most < Infinity && (entries.length > most || entries.some((entry) => !entry.cui));
    if (open || chosen().join(" ") === reported) return;
    reported = chosen().join(" ");
    for (const entry of entries) entry.settled = true;
    onchange(chosen(), entries);
  }

  async function add(text) {
    list.setAttribute("aria-busy", "true");
    field.status.textContent = "Looking the names up …";
    try {
      const more = await withNearest(app, await understood(app, text, signal));
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
    field.input.placeholder = entries.length ? "another" : hint;
    const open = entries.length - chosen().length;
    const without = app.release.names || !open ? "" : `. ${NO_NAMES}`;
    const parts = [(most === Infinity || open || chosen().length > most) && counted(chosen().length, "concept"), open && `${open} not understood${without}`,
      chosen().length > most && `${most} at most: remove the others`];
    field.status.textContent = entries.length ? parts.filter(Boolean).join("; ") : "";
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

  field.input.addEventListener("keydown", (event) => {
    if (event.key !== "Backspace" || field.input.value || !entries.length) return;
    event.preventDefault();
    change(entries.slice(0, -1));
  });
  entries = cuis.map((cui) => ({ cui, name: null, note: "", text: cui, hits: [], settled: true }));
  show();
  if (cuis.length) described(app, cuis, signal).then((all) => withNearest(app, all)).then((all) => { // the chips are there without it
    const of = new Map(all.map((entry) => [entry.cui, { ...entry, settled: true }]));
    entries = entries.map((entry) => of.get(entry.cui) ?? entry);
    show();
  }).catch(() => null);
  return { root: field.root, input: field.input };
}

/**
 * Two fields for a pair of concepts. A list of two, pasted into either, fills both.
 * @param {import("./main.js").App} app @param {string[]} labels @param {{a: string, b: string}} pair
 * @param {(changed: {a?: string, b?: string}) => void} onchange @param {AbortSignal} signal
 */
export function pairFields(app, labels, pair, onchange, signal) {
  return ["a", "b"].map((side, i) => conceptChips(app, { label: labels[i], cuis: [pair[side]].filter(Boolean), most: 2, signal,
    onchange: ([one = "", other]) => onchange(other ? { a: one, b: other } : { [side]: one }) }));
}
