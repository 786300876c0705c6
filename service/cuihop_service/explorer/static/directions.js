// Which way hops may go: a choice that several views have.

import { el } from "./dom.js";

const CHOICES = [["any", "either way"], ["up", "up, to broader"], ["down", "down, to narrower"]];

/** Words for a direction, as in "3 hops, either way". */
export function directionInWords(direction) {
  return { any: "either way", up: "up only", down: "down only" }[direction] ?? direction;
}

/** @param {string} chosen @param {(direction: string) => void} onchoose */
export function directionChoice(chosen, onchoose) {
  return el(
    "fieldset",
    { class: "choice" },
    el("legend", {}, "Direction"),
    CHOICES.map(([value, text]) => el("label", {},
      el("input", { type: "radio", name: "direction", id: `direction-${value}`, value, checked: value === chosen, onchange: () => onchoose(value) }), " ", text)),
  );
}
