// The mentions of a text as a table: what matched and how, with a choice among concepts and a way to leave one out.

import { el, fill, grouped, table, tableRow } from "./dom.js";
import { conceptAddress } from "./address.js";
import { CONTEXTS, RULES } from "./mentions.js";

const ROWS = 100;
const HEADS = ["Text", "Concept", "Counts as", "Change", "Name matched", "Vocabularies", "Rule", "Context"];

/** Words for what a mention counts as; "" until it is compared. */
export const COUNTS_AS = { matched: "matched", near: "near", alone: "alone", unknown: "unknown", out: "left out", "": "…" };

/**
 * @param {string} side @param {import("./mentions.js").Mention[]} mentions
 * @param {(mention: import("./mentions.js").Mention) => boolean} isIncluded
 * @param {() => void} onchange called after a decision
 * @returns {{root: HTMLElement, update: () => void, reveal: (mention: import("./mentions.js").Mention) => void}}
 *   `update` shows the kinds and decisions of now, `reveal` puts the focus on the row of a mention
 */
export function mentionTable(side, mentions, isIncluded, onchange) {
  const rows = new Map();
  const body = el("div", {});
  const more = el("p", {});

  function rowOf(mention, place) {
    const { found, decision } = mention;
    const link = el("a", {});
    const cui = el("code", {});
    const terms = mention.terms.map((term) => el("option", { value: term.cui, selected: term === mention.term }, `${term.name ?? term.matched} (${term.cui})`));
    const choice = terms.length > 1 && el("select", { "aria-label": `Concept of “${found.text}”`, onchange: (event) => {
      decision.chosen = event.target.value;
      onchange();
    } }, terms);
    const [matched, sabs, kind] = [el("span", {}), el("span", {}), el("span", {})];
    const button = el("button", { type: "button", class: "quiet small", onclick: () => {
      decision.included = !isIncluded(mention);
      onchange();
    } });
    const update = () => {
      const { term } = mention;
      link.setAttribute("href", conceptAddress(term.cui));
      link.textContent = term.name ?? term.cui;
      cui.textContent = term.cui;
      matched.textContent = term.matched;
      sabs.textContent = term.sabs.join(", ");
      kind.textContent = COUNTS_AS[mention.kind];
      kind.className = `kind ${mention.kind}`;
      const included = isIncluded(mention);
      button.textContent = included ? "Leave out" : "Put back";
      button.setAttribute("aria-label", `${button.textContent}: ${found.text}`);
    };
    const root = tableRow(HEADS, [
      el("bdi", {}, found.text), [choice && el("div", {}, choice), link, " ", cui], kind, button, matched, sabs, RULES[found.rule] ?? found.rule,
      found.context.map((context) => el("div", {}, el("b", {}, context), ": ", CONTEXTS[context] ?? "")),
    ], { id: `mention-${side}-${place}`, tabindex: "-1" });
    return { root, update };
  }

  function show(most) {
    for (const [place, mention] of mentions.slice(0, most).entries()) if (!rows.has(mention)) rows.set(mention, rowOf(mention, place));
    fill(body, table(`Mentions in ${side.toUpperCase()}`, HEADS, [...rows.values()].map((row) => row.root)));
    fill(more, mentions.length > most && el("button", { type: "button", class: "quiet small", id: `more-${side}`, onclick: () => {
      show(most + ROWS);
      document.getElementById(`more-${side}`)?.focus();
    } }, `${grouped(Math.min(ROWS, mentions.length - most))} more of ${grouped(mentions.length - most)}`));
    update();
  }

  function update() {
    for (const row of rows.values()) row.update();
  }

  show(ROWS);
  return {
    root: el("div", {}, body, more),
    update,
    reveal: (mention) => {
      if (!rows.has(mention)) show(Math.ceil((mentions.indexOf(mention) + 1) / ROWS) * ROWS);
      rows.get(mention).root.focus();
    },
  };
}
