// Concepts as boxes: what is written in them, how large they are, and where they stand.

import { Graph, layout } from "./vendor/dagre.esm.js";

export const FONT_SIZE = 13;
export const LINE = 17;
export const FONT = "system-ui, Segoe UI, Roboto, Liberation Sans, DejaVu Sans, sans-serif"; // as Cytoscape reads it: without quotes
const WIDEST = 150; // of the text
const MOST_LINES = 3;
const AROUND = 12;
const UNDER = 14;
const COLUMNS_APART = 200;

/**
 * @typedef {{id: string, cui: string|null, name: string|null, kind: string, text?: string, note?: string}} Node
 * `text` is written in place of name and identifier.
 * @typedef {{from: string, to: string, kind?: string, text?: string, sides?: boolean}} Edge from the narrower concept to the broader one
 * `sides`: the edge goes from side to side, where boxes stand in columns.
 * @typedef {Node & {lines: string[], width: number, height: number, x: number, y: number}} Box
 */

const pen = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
pen.font = `${FONT_SIZE}px ${FONT}`;

/** @param {Node} node @returns {Box} */
export function box(node) {
  const lines = node.text ? wrapped(node.text) : wrapped(node.name ?? node.cui ?? "");
  if (!node.text && node.name && node.cui) lines.push(node.cui);
  const width = Math.max(64, ...lines.map((line) => pen.measureText(line).width)) + 2 * AROUND;
  return { ...node, lines, width: Math.ceil(width), height: lines.length * LINE + AROUND, x: 0, y: 0 };
}

/** A text in lines that fit; what is left over ends in three dots. */
function wrapped(text) {
  const lines = [""];
  for (const word of text.split(/\s+/)) {
    const longer = lines[lines.length - 1] ? `${lines[lines.length - 1]} ${word}` : word;
    if (pen.measureText(longer).width <= WIDEST || !lines[lines.length - 1]) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  const kept = lines.slice(0, MOST_LINES).map(shortened);
  if (lines.length > MOST_LINES) kept[MOST_LINES - 1] = shortened(`${kept[MOST_LINES - 1]} …`, true);
  return kept;
}

function shortened(line) {
  if (pen.measureText(line).width <= WIDEST) return line;
  let end = line.length;
  while (end > 1 && pen.measureText(`${line.slice(0, end)}…`).width > WIDEST) end -= 1;
  return `${line.slice(0, end)}…`;
}

/** Broader concepts on the left, narrower ones on the right. @param {Box[]} boxes @param {Edge[]} edges */
export function placedInLayers(boxes, edges) {
  const graph = new Graph({ multigraph: false });
  graph.setGraph({ rankdir: "LR", nodesep: 7, ranksep: 90, ranker: "network-simplex" });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const one of boxes) graph.setNode(one.id, { width: one.width, height: one.height });
  for (const edge of edges) graph.setEdge(edge.to, edge.from);
  layout(graph);
  for (const one of boxes) ({ x: one.x, y: one.y } = graph.node(one.id));
}

/** A walk: from left to right, a level higher for each hop to a parent. @param {Box[]} boxes @param {number[]} levels */
export function placedAsWalk(boxes, levels) {
  const tallest = Math.max(...boxes.map((one) => one.height));
  let x = 0;
  boxes.forEach((one, place) => {
    x += place === 0 ? 0 : (boxes[place - 1].width + one.width) / 2 + 34;
    one.x = x;
    one.y = -levels[place] * (tallest + 30);
  });
}

/** Two columns, and above them, in the middle, what belongs to both. @param {Box[]} left @param {Box[]} both @param {Box[]} right */
export function placedInColumns(left, both, right) {
  const apart = (Math.max(0, ...left.map((one) => one.width)) + Math.max(0, ...right.map((one) => one.width))) / 2 + COLUMNS_APART;
  const down = (column, x, top) => column.reduce((y, one) => {
    one.x = x;
    one.y = y + one.height / 2;
    return y + one.height + UNDER;
  }, top);
  const top = down(both, 0, 0);
  down(left, -apart / 2, top);
  down(right, apart / 2, top);
}
