// The mentions of a text as a table: what matched and how, with a choice among concepts and a way to leave one out.

import { el } from "./dom.js";
import { conceptAddress } from "./address.js";
import { conceptChips } from "./concept_chips.js";
import { CONTEXTS, RULES } from "./mentions.js";
import { ownTable } from "./sortable_table.js";

const ROWS = 100;

/** Words for what a mention counts as; "" until it is compared. */
export const COUNTS_AS = { matched: "matched", near: "near", alone: "alone", unknown: "unknown", out: "left out", "": "…" };

/**
 * @param {import("./main.js").App} app @param {string} side @param {import("./mentions.js").Mention[]} mentions
 * @param {{isIncluded: (mention: import("./mentions.js").Mention) => boolean, onchange: () => void,
 *   order: import("./sortable_table.js").Order, onorder: () => void, signal: AbortSignal}} options `onchange` is called after a decision, `onorder` after a change of `order`
 * @returns {{root: HTMLElement, update: () => void, reveal: (mention: import("./mentions.js").Mention) => void}}
 *   `update` shows the kinds and decisions of now, `reveal` puts the focus on the row of a mention
 */
export function mentionTable(app, side, mentions, { isIncluded, onchange, order, onorder, signal }) {
  const label = `Mentions in ${side.toUpperCase()}`;
  let [changing, field] = [null, null]; // the mention whose concept is looked for, and where

  /** @type {import("./sortable_table.js").Column[]} */
  const columns = [
    { head: "Text", cell: ({ found }) => el("bdi", {}, found.text), key: ({ found }) => found.text },
    { head: "Context", cell: ({ found }) => found.context.map((context) => el("div", {}, el("b", {}, context), ": ", CONTEXTS[context] ?? "")),
      key: ({ found }) => found.context.join(", ") },
    { head: "Concept", cell: conceptOf, key: ({ term }) => term.name ?? term.cui },
    { head: "Counts as", cell: (mention) => [el("span", { class: `kind ${mention.kind}` }, COUNTS_AS[mention.kind]), " ", inclusion(mention)],
      key: (mention) => COUNTS_AS[mention.kind] },
    { head: "Name matched", cell: ({ term, found, decision }) => (decision.other ? "chosen by you" : [term.matched, " ", el("small", {}, RULES[found.rule] ?? found.rule)]),
      key: ({ term }) => term.matched },
    { head: "Vocabularies", cell: ({ term }) => term.sabs.join(", "), key: ({ term }) => term.sabs.join(", ") },
  ];

  function inclusion(mention) {
    const text = isIncluded(mention) ? "Leave out" : "Put back";
    return el("button", { type: "button", class: "quiet small", id: `${idOf(mention)}-counts`, "aria-label": `${text}: ${mention.found.text}`, onclick: () => {
      mention.decision.included = !isIncluded(mention);
      onchange();
    } }, text);
  }

  /** The concept, with a choice among those of the same name, and a field for any other. */
  function conceptOf(mention) {
    const { found, decision, term } = mention;
    const decide = (other) => {
      Object.assign(decision, other);
      changing = null;
      table.show();
      onchange();
    };
    const terms = mention.terms.map((one) => el("option", { value: one.cui, selected: one === term }, `${one.name ?? one.matched} (${one.cui})`));
    const choice = terms.length > 1 && el("select", { id: `${idOf(mention)}-choice`, "aria-label": `Concept of “${found.text}”`,
      onchange: (event) => decide({ chosen: event.target.value, other: undefined }) },
    decision.other && el("option", { selected: true }, "another"), terms);
    return [choice && el("div", {}, choice), el("a", { href: conceptAddress(term.cui) }, term.name ?? term.cui), term.name && [" ", el("code", {}, term.cui)], " ",
      mention === changing ? field.root : el("button", { type: "button", class: "quiet small", id: `${idOf(mention)}-other`, "aria-label": `Another concept: ${found.text}`, onclick: () => {
        changing = mention;
        field = conceptChips(app, { label: `Another concept in ${side.toUpperCase()}`, most: 1, signal,
          onchange: ([cui], [{ name }]) => decide({ other: { cui, name, matched: "", sabs: [] } }) });
        table.show();
        field.input.focus();
      } }, "Other …")];
  }

  function idOf({ found }) {
    return `mention-${side}-${found.start}-${found.end}`; // the same in the next answer, so that the focus stays on it
  }

  const table = ownTable(label, columns, () => mentions, { order, onorder, page: ROWS, attributes: (mention) => ({ id: idOf(mention), tabindex: "-1" }) });
  return {
    root: table.root,
    update: () => table.show(),
    reveal: (mention) => {
      table.show(mention);
      document.getElementById(idOf(mention))?.focus();
    },
  };
}
