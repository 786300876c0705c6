// All shortest paths between two concepts: a layer for each hop, what is folded in it, and the positions of the boxes.

const ALIKE = 6; // concepts with the same edges, at least, that are folded
const COLOURS = 7; // vocabularies with a colour of their own
const BETWEEN = 12; // boxes of a layer
const LAYERS_APART = 46;
const COLUMNS_APART = 54;
const WIDER = 1.25; // than the room: a row of that width can still be read
const SWEEPS = 4;

export class PathLayers {
  /** @param {{concepts: {cui: string, hops: number}[], edges: {child: string, parent: string, sabs: string[]}[]}} answer of v1/paths */
  constructor({ concepts, edges }) {
    this.hops = new Map(concepts.map(({ cui, hops }) => [cui, hops]));
    this.first = concepts[0].cui;
    const lists = () => new Map(concepts.map(({ cui }) => [cui, []]));
    [this.onward, this.back] = [lists(), lists()];
    for (const { child, parent } of edges) {
      const [from, to] = this.hops.get(child) < this.hops.get(parent) ? [child, parent] : [parent, child];
      this.onward.get(from).push(to);
      this.back.get(to).push(from);
    }
    for (const list of [...this.onward.values(), ...this.back.values()]) list.sort();
    /** Paths from each concept to the end. */
    this.counts = new Map();
    for (const { cui } of [...concepts].reverse()) {
      this.counts.set(cui, this.onward.get(cui).reduce((sum, next) => sum + this.counts.get(next), 0) || 1);
    }
  }

  /** The rank of the first path through a concept, in the order of identifiers. */
  rankThrough(cui) {
    const before = new Set([cui]);
    for (const each of before) for (const one of this.back.get(each)) before.add(one);
    let rank = 1;
    for (let at = this.first; at !== cui;) {
      const next = this.onward.get(at).find((one) => before.has(one));
      for (const one of this.onward.get(at)) if (one < next) rank += this.counts.get(one);
      at = next;
    }
    return rank;
  }

  /** Concept → the concepts that it is drawn with: itself, or many with the same edges, but for those that are shown singly. */
  groups(single) {
    const alike = new Map();
    for (const [cui, hops] of this.hops) {
      const key = single.has(cui) ? cui : JSON.stringify([hops, this.back.get(cui), this.onward.get(cui)]);
      alike.set(key, [...(alike.get(key) ?? []), cui]);
    }
    const groups = [...alike.values()].flatMap((cuis) => cuis.length < ALIKE ? cuis.map((cui) => [cui]) : [cuis]);
    return new Map(groups.flatMap((cuis) => cuis.map((cui) => [cui, cuis])));
  }
}

/** Vocabulary → number of its colour, the most frequent first; those without a colour of their own share the last. */
export function colourNumbers(edges) {
  const counts = new Map();
  for (const { sabs } of edges) for (const sab of sabs) counts.set(sab, (counts.get(sab) ?? 0) + 1);
  const order = [...counts].sort(([one, n], [other, m]) => m - n || (one < other ? -1 : 1));
  return new Map(order.map(([sab], rank) => [sab, Math.min(rank, COLOURS) + 1]));
}

/**
 * Positions boxes by layer: from left to right if they fit, else from top to bottom, a large layer in several rows.
 * @param {import("./boxes.js").Box[][]} layers @param {(box: any) => string[]} near identifiers of boxes with an edge to it
 * @param {number} room width of the picture
 * @returns {boolean} whether from left to right
 */
export function placedInLayers(layers, near, room) {
  ordered(layers, near);
  const widths = layers.map((boxes) => Math.max(...boxes.map((one) => one.width)));
  const across = widths.reduce((sum, width) => sum + width + COLUMNS_APART, -COLUMNS_APART);
  if (across <= room * WIDER) {
    let x = 0;
    layers.forEach((boxes, layer) => {
      let y = -boxes.reduce((sum, one) => sum + one.height + BETWEEN, -BETWEEN) / 2;
      for (const one of boxes) {
        Object.assign(one, { x: x + widths[layer] / 2, y: y + one.height / 2 });
        y += one.height + BETWEEN;
      }
      x += widths[layer] + COLUMNS_APART;
    });
    return true;
  }
  let top = 0;
  layers.forEach((boxes, layer) => {
    const columns = Math.max(1, Math.min(boxes.length, Math.floor((room + BETWEEN) / (widths[layer] + BETWEEN) - 0.5)));
    const rows = Math.ceil(boxes.length / columns);
    const step = widths[layer] + BETWEEN;
    const height = Math.max(...boxes.map((one) => one.height)) + BETWEEN;
    const used = Math.ceil(boxes.length / rows);
    boxes.forEach((one, rank) => Object.assign(one, { // neighbours in the order stand below one another, a little aside
      x: (Math.floor(rank / rows) - (used - 1) / 2 + (rows > 1 ? (rank % rows % 2) / 2 - 0.25 : 0)) * step,
      y: top + (rank % rows) * height + height / 2,
    }));
    top += rows * height + LAYERS_APART;
  });
  return false;
}

/** Orders each layer by the mean position of what its boxes have an edge to, a few times down and up: fewer edges cross. */
function ordered(layers, near) {
  const place = new Map();
  const note = (boxes) => boxes.forEach((one, rank) => place.set(one.id, (rank + 0.5) / boxes.length));
  layers.forEach(note);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const downwards = sweep % 2 === 0;
    for (const boxes of downwards ? layers.slice(1) : layers.slice(0, -1).reverse()) {
      const own = new Set(boxes.map((one) => one.id));
      const mean = new Map(boxes.map((one) => {
        const others = near(one).filter((id) => !own.has(id)).map((id) => place.get(id));
        return [one.id, others.reduce((sum, each) => sum + each, 0) / (others.length || 1)];
      }));
      boxes.sort((one, other) => mean.get(one.id) - mean.get(other.id));
      note(boxes);
    }
  }
}
