// The concepts around a centre as far as they are drawn, and the families of which some are not.
//
// All distances, totals and edges are the service's. What is decided here is only what to draw: of more than FAMILY
// parents or children none are drawn until they are requested, but for the centre, of which the first ones are drawn.

import { whole } from "./address.js";
import { grouped } from "./dom.js";
import { edgesAmong, namedNeighbourhood } from "./whole_neighbourhood.js";

export const FAMILY = 12; // parents or children that are drawn at once
const MOST = 400; // concepts in a picture

/** @typedef {{cui: string, name: string|null, hops: number|null, parents: number, children: number, sabs: string[], semantic_types: any[]}} Shown */

export class Surroundings {
  /**
   * @param {import("./main.js").App} app
   * @param {{cui: string, hops: number, direction: string, open: string}} requested `cui` is current in the release
   * @param {AbortSignal} signal
   */
  constructor(app, requested, signal) {
    this.app = app;
    this.requested = requested;
    this.signal = signal;
    this.centre = requested.cui;
    /** @type {Map<string, Shown>} */
    this.nodes = new Map();
    /** @type {import("./boxes.js").Edge[]} */
    this.edges = [];
    this.full = 0; // how many fit, where more were wanted
    const ways = { any: [[true, false]], up: [[true]], down: [[false]], vertical: [[true], [false]] }[requested.direction];
    /** The searches from the centre: whether hops lead up, and the concepts reached. @type {{ways: boolean[], reached: Set<string>}[]} */
    this.searches = (ways ?? []).map((each) => ({ ways: each, reached: new Set() }));
    /**
     * What is drawn of a large family, by its identifier (`down C0018787` its children, `up C0018787` its parents):
     * how many in the order of names, and which others.
     * @type {Map<string, {count: number, chosen: string[]}>}
     */
    this.wanted = new Map(requested.open.split(";").filter(Boolean).map((entry) => {
      const [way, cui, pages, ...chosen] = entry.split(" ");
      return [`${way} ${cui}`, { count: whole(pages ?? null, 1, 0, Math.ceil(MOST / FAMILY)) * FAMILY, chosen: chosen.slice(0, MOST) }];
    }));
    /** @type {Map<string, {total: number, cuis: string[]}>} */
    this.families = new Map();
    /** @type {Map<string, Promise<{total: number, concepts: any[]}>>} */
    this.listed = new Map();
  }

  /** Fetches everything that is drawn. */
  async grow() {
    const found = new Set([this.centre]);
    this.full = 0;
    for (const search of this.searches) {
      search.reached = await this.#reach(search.ways, found);
    }
    await this.#describe([...found]);
  }

  /** Adds the concepts of one search to those found. @returns {Promise<Set<string>>} those that the search reaches */
  async #reach(ways, found) {
    let edge = [this.centre];
    const reached = new Set(edge);
    for (let hop = 0; hop < this.requested.hops && edge.length > 0; hop += 1) {
      const next = [];
      for (const upwards of ways) {
        await this.#learn(edge, upwards);
        for (const one of edge) {
          for (const near of await this.#drawnOf(this.#idOf(one, upwards))) {
            if (reached.has(near)) continue;
            if (!found.has(near) && found.size >= MOST) {
              this.full = MOST;
              continue;
            }
            found.add(near);
            reached.add(near);
            next.push(near);
          }
        }
      }
      edge = next;
    }
    return reached;
  }

  /** Draws the next ones of a family, in the order of names. */
  async unfold(id) {
    const { count, chosen } = this.#wantedOf(id);
    this.wanted.set(id, { count: count + FAMILY, chosen });
    await this.grow();
  }

  /** Draws one more of a family. */
  async choose(id, cui) {
    const { count, chosen } = this.#wantedOf(id);
    this.wanted.set(id, { count, chosen: [...chosen, cui] });
    await this.grow();
  }

  /** What is drawn of large families, for the address. */
  opened() {
    return [...this.wanted].map(([id, { count, chosen }]) => [id, count / FAMILY, ...chosen].join(" ")).join(";");
  }

  /** All of a family in the order of names, as many as are listed, and their number. */
  members(id) {
    const listing = this.listed.get(id) ?? namedNeighbourhood(this.app,
      { cui: this.#cuiOf(id), hops: 1, direction: id.startsWith("up ") ? "up" : "down" }, this.signal);
    this.listed.set(id, listing);
    listing.catch(() => this.listed.delete(id)); // to be fetched again
    return listing;
  }

  /** The families of which some are not drawn. */
  folds() {
    const drawn = new Map();
    for (const { from, to } of this.edges) {
      for (const id of [this.#idOf(from, true), this.#idOf(to, false)]) drawn.set(id, (drawn.get(id) ?? 0) + 1);
    }
    const found = [];
    for (const [id, { total }] of this.families) {
      const cui = this.#cuiOf(id);
      const node = this.nodes.get(cui);
      const present = drawn.get(id) ?? 0;
      if (!node || total <= present) continue;
      const upwards = id.startsWith("up ");
      const left = total - present;
      const [one, many] = upwards ? ["parent", "parents"] : ["child", "children"];
      found.push({ id, cui, name: node.name ?? cui, upwards, left, total, word: many, text: `+ ${grouped(left)} ${left === 1 ? one : many}` });
    }
    return found;
  }

  /**
   * One edge for each concept, which leads to the centre: of the shortest ways through what is shown, the first in the
   * order of identifiers, as the service's paths are. A concept whose shortest ways are all folded hangs where it can.
   * @returns {Set<import("./boxes.js").Edge>}
   */
  tree() {
    /** @type {Map<string, {near: string, edge: import("./boxes.js").Edge}[]>} */
    const beside = new Map([...this.nodes.keys()].map((cui) => [cui, []]));
    for (const { ways, reached } of this.searches) {
      for (const edge of this.edges.filter(({ from, to }) => reached.has(from) && reached.has(to))) {
        if (ways.includes(true)) beside.get(edge.from)?.push({ near: edge.to, edge });
        if (ways.includes(false)) beside.get(edge.to)?.push({ near: edge.from, edge });
      }
    }
    const chosen = new Set();
    const reached = new Set([this.centre]);
    const walk = (strictly) => {
      let level = strictly ? [this.centre] : [...reached];
      while (level.length > 0) {
        const next = [];
        for (const cui of level) {
          const found = (beside.get(cui) ?? []).filter(({ near }) => !reached.has(near)
            && (!strictly || this.nodes.get(near)?.hops === (this.nodes.get(cui)?.hops ?? 0) + 1));
          found.sort((one, other) => (one.near < other.near ? -1 : 1));
          for (const { near, edge } of found) {
            if (reached.has(near)) continue;
            reached.add(near);
            chosen.add(edge);
            next.push(near);
          }
        }
        level = next;
      }
    };
    walk(true);
    walk(false);
    return chosen;
  }

  #cuiOf(id) {
    return id.slice(id.indexOf(" ") + 1);
  }

  #idOf(cui, upwards) {
    return `${upwards ? "up" : "down"} ${cui}`;
  }

  #wantedOf(id) {
    return this.wanted.get(id) ?? { count: this.#cuiOf(id) === this.centre ? FAMILY : 0, chosen: [] };
  }

  /** How many parents or children concepts have, and which, where they are few. */
  async #learn(cuis, upwards) {
    const part = cuis.filter((cui) => !this.families.has(this.#idOf(cui, upwards)));
    if (!part.length) return;
    const answer = await this.app.service.post("v1/neighbourhoods",
      { cuis: part, hops: 1, direction: upwards ? "up" : "down", limit: FAMILY }, this.signal);
    answer.neighbourhoods.forEach((family) => this.families.set(this.#idOf(family.cui, upwards),
      { total: family.total, cuis: family.neighbours.map((near) => near.cui) }));
  }

  /** The members of a family that are drawn: all of a small one; of a large one those that were requested. */
  async #drawnOf(id) {
    const family = this.families.get(id);
    if (!family) return [];
    if (family.total <= FAMILY) return family.cuis;
    const { count, chosen } = this.#wantedOf(id);
    if (count === 0 && !chosen.length) return [];
    const cuis = (await this.members(id)).concepts.map(({ cui }) => cui);
    return [...cuis.slice(0, count), ...chosen.filter((cui) => cuis.includes(cui))]; // an address may name others
  }

  /** Names, counts, distances and edges of what is drawn. */
  async #describe(cuis) {
    const { service } = this.app;
    const { direction, hops } = this.requested;
    const pairs = cuis.map((cui) => [this.centre, cui]);
    const [described, far, edges] = await Promise.all([
      service.post("v1/concepts", { cuis }, this.signal),
      service.post("v1/distances", { pairs, direction, max_hops: hops }, this.signal),
      edgesAmong(this.app, cuis, this.signal),
    ]);
    this.nodes = new Map(described.concepts.map(({ cui, name, parents, children, sabs, semantic_types }, i) =>
      [cui, { cui, name, parents, children, sabs, semantic_types, hops: far.hops[i] }]));
    this.edges = edges;
  }
}
