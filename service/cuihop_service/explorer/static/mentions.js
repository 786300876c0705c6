// Mentions of concepts in a text: their places, and the decisions about them.

import { el } from "./dom.js";

/** Rules by which a text matches a name, in words. */
export const RULES = {
  exact: "the text is the name",
  form: "in another form: British or American, singular or plural, possessive",
  spacing: "written together or apart: a hyphen, or none",
  inverted: "the name in its natural order: “Fracture, hip” as “hip fracture”",
  tail: "the name without its brackets, or without NOS or NEC",
  acronym: "a short name in its own capitals",
  abbreviation: "short for a name, as this text defines it (Schwartz and Hearst 2003)",
  spelling: "the nearest words: one or two letters differ",
};

/** Contexts of a mention, in words. */
export const CONTEXTS = {
  negated: "the text says that it is absent",
  uncertain: "the text says that it is possible",
  family: "it concerns a relative and not the patient",
};

/** A mention, and whether it counts. */
export class Mention {
  /** @param {any} found of the service @param {{chosen?: string, other?: any, included?: boolean}} decision of the user, which is changed;
   * `other` is a concept that has another name */
  constructor(found, decision) {
    this.found = found;
    this.decision = decision;
    this.terms = found.candidates?.length ? found.candidates : [found];
    this.kind = "";
    /** @type {HTMLElement[]} */
    this.marks = [];
  }

  /** The concept that it stands for. */
  get term() {
    if (this.decision.other) return this.decision.other;
    const of = (cui) => this.terms.find((term) => term.cui === cui);
    return of(this.decision.chosen) ?? of(this.found.cui) ?? this.found;
  }

  /** Whether it counts: as the user decided, or by its context. @param {string[]} leaveOut contexts */
  included(leaveOut) {
    return this.decision.included ?? !this.found.context.some((context) => leaveOut.includes(context));
  }
}

/**
 * A text with its mentions marked. A mention within another is a mark within a mark; one that begins within another and
 * ends beyond it has two marks.
 * @param {string} text @param {Mention[]} mentions with places counted in characters, not in UTF-16 units
 * @returns {(string|HTMLElement)[]}
 */
export function markedText(text, mentions) {
  const places = [0]; // of characters, in UTF-16 units
  for (const character of text) places.push(places[places.length - 1] + character.length);
  const spans = mentions.map((mention) => ({ mention, start: places[mention.found.start], end: places[mention.found.end] }));
  return nested(text, spans.sort(outerFirst), 0, text.length);
}

function outerFirst(one, other) {
  return one.start - other.start || other.end - one.end;
}

function nested(text, spans, begin, end) {
  const nodes = [];
  let at = begin;
  let [rest, first] = [spans, 0];
  while (first < rest.length) {
    const outer = rest[first];
    let next = first + 1;
    while (next < rest.length && rest[next].start < outer.end) next += 1;
    const within = rest.slice(first + 1, next);
    const mark = el("mark", { "data-context": outer.mention.found.context?.join(", ") || null }, nested(text, within.map((span) => ({ ...span, end: Math.min(span.end, outer.end) })), outer.start, outer.end));
    outer.mention.marks.push(mark);
    nodes.push(text.slice(at, outer.start), mark);
    at = outer.end;
    const beyond = within.filter((span) => span.end > outer.end).map((span) => ({ ...span, start: outer.end }));
    if (beyond.length) [rest, first] = [[...beyond, ...rest.slice(next)].sort(outerFirst), 0];
    else first = next;
  }
  return [...nodes, text.slice(at, end)];
}
