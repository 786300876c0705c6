// What a search may use: the direction of its hops, and the vocabularies of which one has to assert each is_a edge.

import { el, radioChoice } from "./dom.js";

const CHOICES = [["any", "in both directions"], ["up", "up, to broader"], ["down", "down, to narrower"],
  ["vertical", "all up or all down"]];

/** Words for a direction, as in "3 hops, in both directions". */
export function directionInWords(direction) {
  return { any: "in both directions", up: "up only", down: "down only", vertical: "all up or all down" }[direction] ?? direction;
}

/** @param {string} chosen @param {(direction: string) => void} onchoose */
export function directionChoice(chosen, onchoose) {
  return radioChoice("direction", "Direction", CHOICES, chosen, onchoose);
}

/** The vocabularies in an address that the release has; none for all. */
export function vocabulariesIn(query, all) {
  return (query.get("sabs") ?? "").split(",").filter((sab) => all.includes(sab));
}

/** A vocabulary each as a box; the last one stays on. Nothing if there is no choice. @param {(sabs: string[]) => void} onchange none for all */
export function vocabularyChoice(all, chosen, onchange) {
  if (all.length < 2) return null;
  const on = new Set(chosen.length ? chosen : all);
  const inputs = all.map((sab) => el("input", { type: "checkbox", id: `sab-${sab}`, value: sab, checked: on.has(sab), onchange: () => {
    const left = inputs.filter((input) => input.checked).map((input) => input.value);
    keepOne();
    onchange(left.length === all.length ? [] : left);
  } }));
  const keepOne = () => {
    const checked = inputs.filter((input) => input.checked);
    for (const input of inputs) input.disabled = input.checked && checked.length === 1;
  };
  keepOne();
  return el("fieldset", { class: "choice", id: "vocabularies" }, el("legend", {}, "Vocabularies"),
    inputs.map((input) => el("label", {}, input, " ", input.value)));
}

/** Words for a choice, as in "2 hops, by MSH only". */
export function vocabulariesInWords(sabs) {
  return sabs.length ? `by ${sabs.join(", ")} only` : "";
}
