// All concepts around one, for files and lists: what is drawn may be a part of them.

import { byName } from "./names.js";
import { Problem } from "./service.js";

const NAMED = 20_000; // names fetched for a list

/**
 * The concepts within some hops of one, itself first, then nearest first; as many as the service gives in one answer.
 * @param {import("./main.js").App} app
 * @param {{cui: string, hops: number, direction: string, limit?: number}} requested
 * @param {AbortSignal} signal
 * @returns {Promise<{total: number, concepts: any[], edges: import("./boxes.js").Edge[] | null}>} `total` counts the
 *   concepts but the one itself; `edges` are null where there are more concepts than the service packs
 */
export async function wholeNeighbourhood(app, { cui, hops, direction, limit = app.release.limits.neighbours }, signal) {
  const { limits, digest } = app.release;
  const ofOneRelease = (answer) => {
    if (answer.release !== digest) throw new Problem({ reason: "RELEASE_MISMATCH" });
    return answer;
  };
  const around = ofOneRelease(
    await app.service.get("v1/neighbourhood", { cui, hops, direction, limit }, signal));
  const found = [{ cui: around.cui, hops: 0 }, ...around.neighbours];
  const concepts = [];
  for (let first = 0; first < found.length; first += limits.concepts) {
    const part = found.slice(first, first + limits.concepts);
    const answer = ofOneRelease(await app.service.post("v1/concepts", { cuis: part.map((near) => near.cui) }, signal));
    answer.concepts.forEach((concept, place) => concepts.push({ ...concept, hops: part[place].hops }));
  }
  const packed = concepts.length <= limits.pack_concepts;
  const edges = packed ? await edgesAmong(app, concepts.map((concept) => concept.cui), signal) : null;
  return { total: around.total, concepts, edges };
}

/**
 * The nearest concepts around one with their names, in order of hops, then of names.
 * @param {import("./main.js").App} app
 * @param {{cui: string, hops: number, direction: string}} requested
 * @returns {Promise<{total: number, concepts: {cui: string, name: string|null, hops: number}[]}>} `total` counts all,
 *   `concepts` are `NAMED` at most
 */
export async function namedNeighbourhood(app, { cui, hops, direction }, signal) {
  const limit = Math.min(NAMED, app.release.limits.neighbours);
  const around = await app.service.get("v1/neighbourhood", { cui, hops, direction, limit }, signal);
  const names = await app.names(around.neighbours.map((near) => near.cui), signal);
  const concepts = around.neighbours.map((near) => ({ ...near, name: names.get(near.cui) ?? null }));
  return { total: around.total, concepts: concepts.sort((one, other) => one.hops - other.hops || byName(one, other)) };
}

/** The is_a edges between some concepts, from child to parent. @returns {Promise<import("./boxes.js").Edge[]>} */
export async function edgesAmong(app, cuis, signal) {
  const pack = await app.service.post("v1/pack", { cuis, hops: 1, direction: "up" }, signal);
  const edges = [];
  for (let row = 0; row < pack.cuis.length; row += 1) {
    for (let i = pack.indptr[row]; i < pack.indptr[row + 1]; i += 1) {
      if (pack.hops[i] === 1) edges.push({ from: pack.cuis[row], to: pack.cuis[pack.indices[i]] });
    }
  }
  return edges;
}
