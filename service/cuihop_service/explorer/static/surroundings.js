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
    /** The families by which concepts beyond the hops came into the picture. @type {Map<string, string>} */
    this.hung = new Map();
    const ways = { any: [[true, false]], up: [[true]], down: [[false]], vertical: [[true], [false]] }[requested.direction];
    /** The searches from the centre: whether hops lead up, and the concepts reached. @type {{ways: boolean[], reached: Set<string>}[]} */
    this.searches = (ways ?? []).map((each) => ({ ways: each, reached: new Set() }));
    this.open(requested.open);
    /** @type {Map<string, {total: number, cuis: string[]}>} */
    this.families = new Map();
    /** Those that the picture asks for: after "Back" fewer. @type {Set<string>} */
    this.asked = new Set();
    /** @type {Map<string, Promise<{total: number, concepts: any[]}>>} */
    this.listed = new Map();
  }

  /** Takes over what an address says is opened; `grow` then draws it. */
  open(text) {
    /**
     * What is drawn of a family, by its identifier (`down C0018787` its children, `up C0018787` its parents): how many
     * in the order of names, and which others.
     * @type {Map<string, {count: number, chosen: string[]}>}
     */
    this.wanted = new Map(text.split(";").filter(Boolean).map((entry) => {
      const [way, cui, pages, ...chosen] = entry.split(" ");
      return [`${way} ${cui}`, { count: whole(pages ?? null, 1, 0, Math.ceil(MOST / FAMILY)) * FAMILY, chosen: chosen.slice(0, MOST) }];
    }));
  }

  /** Fetches everything that is drawn. */
  async grow() {
    const found = new Set([this.centre]);
    this.full = 0;
    this.hung = new Map();
    this.asked = new Set();
    for (const search of this.searches) {
      search.reached = await this.#reach(search.ways, found);
    }
    for (const id of this.wanted.keys()) {
      const cui = this.#cuiOf(id);
      if (!found.has(cui)) continue; // an address may name any
      await this.#learn([cui], id.startsWith("up "));
      for (const near of await this.#drawnOf(id)) {
        if (found.has(near)) continue;
        if (found.size >= MOST) {
          this.full = MOST;
          continue;
        }
        found.add(near);
        this.hung.set(near, id);
      }
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

  /** What is opened, for the address, once the next ones of families are drawn, in the order of names. */
  unfolded(ids) {
    return this.#opened(ids, ({ count, chosen }) => ({ count: count + FAMILY, chosen }));
  }

  /** What is opened, for the address, once one more of a family is drawn. */
  chosen(id, cui) {
    return this.#opened([id], ({ count, chosen }) => ({ count, chosen: [...chosen, cui] }));
  }

  #opened(ids, more) {
    const wanted = new Map(this.wanted);
    for (const id of ids) wanted.set(id, more(this.#wantedOf(id)));
    return [...wanted].map(([id, { count, chosen }]) => [id, count / FAMILY, ...chosen].join(" ")).join(";");
  }

  /** The families of a concept that are not drawn completely. */
  undrawn(cui) {
    const node = this.nodes.get(cui);
    const drawn = this.#drawnCounts();
    return [true, false].map((upwards) => this.#idOf(cui, upwards))
      .filter((id) => node && (drawn.get(id) ?? 0) < (id.startsWith("up ") ? node.parents : node.children));
  }

  /** How many of the drawn concepts are within the hops, but for the centre. */
  within() {
    return [...this.nodes.values()].filter(({ hops }) => hops !== null && hops <= this.requested.hops).length - 1;
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
    const drawn = this.#drawnCounts();
    const found = [];
    for (const [id, { total }] of this.families) {
      const cui = this.#cuiOf(id);
      const node = this.nodes.get(cui);
      const present = drawn.get(id) ?? 0;
      if (!node || total <= present || !this.asked.has(id)) continue;
      const upwards = id.startsWith("up ");
      const left = total - present;
      const [one, many] = upwards ? ["parent", "parents"] : ["child", "children"];
      found.push({ id, cui, name: node.name ?? cui, upwards, left, total, word: many, text: `+ ${grouped(left)} ${left === 1 ? one : many}` });
    }
    return found;
  }

  #drawnCounts() {
    const drawn = new Map();
    for (const { from, to } of this.edges) {
      for (const id of [this.#idOf(from, true), this.#idOf(to, false)]) drawn.set(id, (drawn.get(id) ?? 0) + 1);
    }
    return drawn;
  }

  /**
   * One edge for each concept, which leads to the centre: of the shortest paths through what is shown one straight up or
   * down, else one over a broader concept; the first in the order of identifiers if there are more. A concept whose shortest paths are all folded
   * hangs on any other drawn concept, and one beyond the hops on the concept that was expanded.
   * @returns {Set<import("./boxes.js").Edge>}
   */
  tree() {
    /** @type {Map<string, {near: string, edge: import("./boxes.js").Edge}[]>} */
    const beside = new Map([...this.nodes.keys()].map((cui) => [cui, []]));
    for (const { ways, reached } of this.searches) {
      for (const edge of this.edges.filter(({ from, to }) => reached.has(from) && reached.has(to))) {
        if (ways.includes(true)) beside.get(edge.from)?.push({ near: edge.to, edge, upwards: true });
        if (ways.includes(false)) beside.get(edge.to)?.push({ near: edge.from, edge, upwards: false });
      }
    }
    const chosen = new Set();
    const reached = new Set([this.centre]);
    const hopsOf = (cui) => this.nodes.get(cui)?.hops;
    const step = (level, permitted) => {
      const next = [];
      for (const cui of level) {
        const found = (beside.get(cui) ?? []).filter((way) => !reached.has(way.near) && permitted(way, cui));
        found.sort((one, other) => (one.near < other.near ? -1 : 1));
        for (const { near, edge } of found) {
          if (reached.has(near)) continue;
          reached.add(near);
          chosen.add(edge);
          next.push(near);
        }
      }
      return next;
    };
    const nearest = ({ near }, cui) => hopsOf(near) === hopsOf(cui) + 1;
    for (const upwards of [true, false]) {
      for (let level = [this.centre]; level.length > 0;) level = step(level, (way, cui) => way.upwards === upwards && nearest(way, cui));
    }
    for (let hops = 0; hops < this.requested.hops; hops += 1) step([...reached].filter((cui) => hopsOf(cui) === hops), nearest);
    for (let level = [...reached]; level.length > 0;) level = step(level, () => true);
    for (const [near, id] of this.hung) {
      const cui = this.#cuiOf(id);
      const edge = this.edges.find(({ from, to }) => (id.startsWith("up ") ? from === cui && to === near : from === near && to === cui));
      if (edge && !reached.has(near)) chosen.add(edge);
    }
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
    for (const cui of cuis) this.asked.add(this.#idOf(cui, upwards));
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
      service.post("v1/distances", { pairs, direction, max_hops: hops + this.wanted.size }, this.signal),
      edgesAmong(this.app, cuis, this.signal),
    ]);
    this.nodes = new Map(described.concepts.map(({ cui, name, parents, children, sabs, semantic_types }, i) =>
      [cui, { cui, name, parents, children, sabs, semantic_types, hops: far.hops[i] }]));
    this.edges = edges;
  }
}
