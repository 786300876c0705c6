// The concepts around a centre as far as they are shown, and which families are folded.
//
// All distances, totals and edges are the service's. What is decided here is only what to show: a concept with more
// than FAMILY parents or children stays folded that way, but for the centre, of which the first ones are shown.

import { grouped } from "./dom.js";
import { edgesAmong } from "./whole_neighbourhood.js";

export const FAMILY = 12; // parents or children that are shown at once
const MOST = 400; // concepts in a picture

/** @typedef {{cui: string, name: string|null, hops: number|null, parents: number, children: number}} Shown */

export class Surroundings {
  /** @param {import("./main.js").App} app @param {{cui: string, hops: number, direction: string, open: string}} asked */
  constructor(app, asked, signal) {
    this.app = app;
    this.asked = asked;
    this.signal = signal;
    this.centre = asked.cui;
    /** @type {Map<string, Shown>} */
    this.nodes = new Map();
    /** @type {import("./boxes.js").Edge[]} */
    this.edges = [];
    this.total = 0;
    this.full = 0; // how many fit, where more were wanted
    /** How many of a family are wanted, by its identifier: `down C0018787` its children, `up C0018787` its parents. */
    this.wanted = new Map(asked.open.split(";").filter(Boolean).map((entry) => {
      const [way, cui, pages] = entry.split(" ");
      return [`${way} ${cui}`, Math.min(MOST / FAMILY, Math.max(1, Number(pages) || 1)) * FAMILY];
    }));
    /** @type {Map<string, {total: number, cuis: string[]}>} */
    this.families = new Map();
  }

  /** Asks for everything that is to be shown. */
  async grow() {
    const { cui, hops, direction } = this.asked;
    const whole = await this.app.service.get("v1/neighbourhood", { cui, hops, direction, limit: 0 }, this.signal);
    this.centre = whole.cui;
    this.total = whole.total;
    let edge = [this.centre];
    const found = new Set(edge);
    for (let hop = 0; hop < hops && edge.length > 0; hop += 1) {
      const next = [];
      for (const upwards of this.#ways()) {
        await this.#learn(edge, upwards);
        for (const one of edge) {
          for (const near of this.#shownOf(one, upwards)) {
            if (found.has(near)) continue;
            if (found.size >= MOST) {
              this.full = MOST;
              continue;
            }
            found.add(near);
            next.push(near);
          }
        }
      }
      edge = next;
    }
    await this.#describe([...found]);
  }

  /** Shows the next page of a family. */
  async unfold(id) {
    this.wanted.set(id, (this.wanted.get(id) ?? (this.#cuiOf(id) === this.centre ? FAMILY : 0)) + FAMILY);
    this.families.delete(id);
    await this.grow();
  }

  /** What is unfolded, for the address. */
  opened() {
    return [...this.wanted].map(([id, count]) => (count > FAMILY ? `${id} ${count / FAMILY}` : id)).join(";");
  }

  /** The families of which some are not shown. */
  folds() {
    const found = [];
    for (const [id, { total, cuis }] of this.families) {
      const cui = this.#cuiOf(id);
      const node = this.nodes.get(cui);
      if (!node) continue;
      const left = total - cuis.filter((near) => this.nodes.has(near)).length - this.#otherwiseShown(id, cui, cuis);
      if (left <= 0) continue;
      const upwards = id.startsWith("up ");
      const word = upwards ? (left === 1 ? "parent" : "parents") : left === 1 ? "child" : "children";
      found.push({ id, cui, name: node.name ?? cui, upwards, left, text: `+ ${grouped(left)} ${word}` });
    }
    return found;
  }

  /**
   * One edge for each concept, which leads to the centre: of the shortest ways through what is shown, the first in the
   * order of identifiers, as the service's paths are. A concept whose shortest ways are all folded hangs where it can.
   * @returns {Set<import("./boxes.js").Edge>}
   */
  tree() {
    const { direction } = this.asked;
    /** @type {Map<string, {near: string, edge: import("./boxes.js").Edge}[]>} */
    const beside = new Map([...this.nodes.keys()].map((cui) => [cui, []]));
    for (const edge of this.edges) {
      if (direction !== "down") beside.get(edge.from)?.push({ near: edge.to, edge });
      if (direction !== "up") beside.get(edge.to)?.push({ near: edge.from, edge });
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

  /** Members of a family that are shown, though its own page does not hold them. */
  #otherwiseShown(id, cui, cuis) {
    const upwards = id.startsWith("up ");
    const listed = new Set(cuis);
    const members = this.edges.filter((edge) => (upwards ? edge.from : edge.to) === cui).map((edge) => (upwards ? edge.to : edge.from));
    return members.filter((near) => !listed.has(near)).length;
  }

  #ways() {
    return { any: [true, false], up: [true], down: [false] }[this.asked.direction] ?? [];
  }

  #cuiOf(id) {
    return id.slice(id.indexOf(" ") + 1);
  }

  #idOf(cui, upwards) {
    return `${upwards ? "up" : "down"} ${cui}`;
  }

  /** Parents or children of concepts, as many as may be wanted of each. */
  async #learn(cuis, upwards) {
    const direction = upwards ? "up" : "down";
    /** @type {Map<number, string[]>} */
    const byLimit = new Map();
    for (const cui of cuis) {
      const id = this.#idOf(cui, upwards);
      if (this.families.has(id)) continue;
      const limit = Math.max(FAMILY, this.wanted.get(id) ?? 0);
      byLimit.set(limit, [...(byLimit.get(limit) ?? []), cui]);
    }
    for (const [limit, part] of byLimit) {
      const answer = await this.app.service.post("v1/neighbourhoods", { cuis: part, hops: 1, direction, limit }, this.signal);
      answer.neighbourhoods.forEach((family) => this.families.set(this.#idOf(family.cui, upwards),
        { total: family.total, cuis: family.neighbours.map((near) => near.cui) }));
    }
  }

  /** The members of a family that are shown: all of a small one; of a large one those that were asked for. */
  #shownOf(cui, upwards) {
    const id = this.#idOf(cui, upwards);
    const family = this.families.get(id);
    if (!family) return [];
    if (family.total <= FAMILY) return family.cuis;
    return family.cuis.slice(0, this.wanted.get(id) ?? (cui === this.centre ? FAMILY : 0));
  }

  /** Names, counts, distances and edges of what is shown. */
  async #describe(cuis) {
    const { service } = this.app;
    const { direction, hops } = this.asked;
    const pairs = cuis.map((cui) => [this.centre, cui]);
    const [described, far, edges] = await Promise.all([
      service.post("v1/concepts", { cuis }, this.signal),
      service.post("v1/distances", { pairs, direction, max_hops: hops }, this.signal),
      edgesAmong(this.app, cuis, this.signal),
    ]);
    this.nodes = new Map(described.concepts.map(({ cui, name, parents, children }, i) =>
      [cui, { cui, name, parents, children, hops: far.hops[i] }]));
    this.edges = edges;
  }
}
