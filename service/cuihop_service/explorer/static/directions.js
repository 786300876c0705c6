// Which way hops may go: a choice that several views have.

import { radioChoice } from "./dom.js";

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
