// Concepts by vocabulary or semantic type: a colour and a number for each group.

import { grouped } from "./dom.js";

const MOST = 8; // groups with a colour of their own; the last one is of all others, where there are more
const KEYS = {
  vocabulary: ({ sabs = [] }) => sabs.join(" + ") || "no vocabulary",
  type: ({ semantic_types: types = [] }) => types.map((type) => type.name).join(" + ") || "no semantic type",
};

/** What concepts may be coloured by. @type {[string, string][]} */
export const COLOURINGS = [["none", "nothing"], ["vocabulary", "vocabulary"], ["type", "semantic type"]];

/**
 * The group of each concept, the largest groups first.
 * @param {any[]} concepts @param {string} by one of COLOURINGS
 * @returns {{of: Map<string, {kind: string, mark: string, text: string}>, legend: {kind: string, text: string}[]}}
 */
export function groups(concepts, by) {
  const key = KEYS[by];
  if (!key) return { of: new Map(), legend: [] };
  const counts = new Map();
  for (const concept of concepts) counts.set(key(concept), (counts.get(key(concept)) ?? 0) + 1);
  const names = [...counts.keys()].sort((one, other) => counts.get(other) - counts.get(one) || (one < other ? -1 : 1));
  const own = names.length > MOST ? names.slice(0, MOST - 1) : names;
  const listed = own.map((text) => ({ text, count: counts.get(text) }));
  if (own.length < names.length) {
    listed.push({ text: `${names.length - own.length} other groups`, count: names.slice(own.length).reduce((sum, name) => sum + counts.get(name), 0) });
  }
  const all = listed.map(({ text, count }, place) => {
    const mark = String.fromCodePoint(0x2460 + place); // a number in a circle: groups differ not by colour alone
    return { kind: `group-${place + 1}`, mark, text, legend: `${mark} ${text} (${grouped(count)})` };
  });
  return {
    of: new Map(concepts.map((concept) => {
      const { kind, mark } = all[own.includes(key(concept)) ? own.indexOf(key(concept)) : all.length - 1];
      return [concept.cui, { kind, mark, text: key(concept) }];
    })),
    legend: all.map(({ kind, legend }) => ({ kind, text: legend })),
  };
}
