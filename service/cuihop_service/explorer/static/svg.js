// A picture as SVG: the same boxes, lines and colours.

import { FONT, FONT_SIZE, LINE, attached, boundsOf, textWidth } from "./boxes.js";

const MARGIN = 20;
const TITLE_SIZE = 16;
const NOTE_SIZE = 12;
const HEADING = 52; // height of title and note
const ENTRY = 22; // height of an entry of the legend

/**
 * A picture with its title above and its legend below.
 * @param {{boxes: import("./boxes.js").Box[], frames: import("./boxes.js").Box[], edges: import("./boxes.js").Edge[],
 *   legend: {kind: string, text: string, strong?: boolean}[]}} picture
 * @param {{title: string, note: string}} heading
 * @param {ReturnType<import("./picture.js").colours>} of
 * @returns {string}
 */
export function svgOf({ boxes, frames, edges, legend }, { title, note }, of) {
  const all = [...frames, ...boxes];
  const bounds = boundsOf(all);
  const [left, top] = [bounds.left - MARGIN, bounds.top - MARGIN - HEADING];
  const written = [textWidth(title, TITLE_SIZE) * 1.08, textWidth(note, NOTE_SIZE), ...legend.map(({ text }) => textWidth(text) + ENTRY)];
  const right = Math.max(bounds.left + bounds.width, left + MARGIN + Math.max(...written)) + MARGIN;
  const below = bounds.top + bounds.height + MARGIN;
  const width = right - left;
  const height = below + (legend.length ? legend.length * ENTRY + MARGIN : 0) - top;
  const at = new Map(all.map((one) => [one.id, one]));
  const root = shape("svg", { viewBox: `${round(left)} ${round(top)} ${round(width)} ${round(height)}`,
    width: round(width), height: round(height), "font-family": FONT, "font-size": FONT_SIZE });
  root.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  const tip = (id, fill) => {
    const marker = shape("marker", { id, viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto",
      markerUnits: "userSpaceOnUse" });
    marker.append(shape("path", { d: "M0 0 8 4 0 8z", fill }));
    return marker;
  };
  const own = [...new Set(edges.map(({ kind }) => kind))].filter((kind) => kind?.startsWith("sab-"));
  root.append(tip("tip", of.line), ...own.map((kind) => tip(`tip-${kind}`, of.kinds[kind].line)), shape("rect", { x: round(left), y: round(top), width: round(width), height: round(height), fill: of.background }));
  root.append(
    words([title], left + MARGIN, top + MARGIN + 6, of.text, { size: TITLE_SIZE, anchor: "start", weight: "bold" }),
    words([note], left + MARGIN, top + MARGIN + 30, of.text, { size: NOTE_SIZE, anchor: "start" }),
  );
  for (const one of frames) root.append(frameOf(one, of), words(one.lines, one.x, one.y - one.height / 2 + LINE - 2, of.text));
  for (const edge of edges) {
    const from = at.get(edge.from);
    const to = at.get(edge.to);
    if (!from || !to) continue;
    const [x1, y1] = border(from, to, edge);
    const [x2, y2] = border(to, from, edge);
    const line = shape("line", { x1: round(x1), y1: round(y1), x2: round(x2), y2: round(y2),
      stroke: (own.includes(edge.kind) ? of.kinds[edge.kind].line : edge.kind === "fold" || edge.kind === "aside" ? of.quietLine : of.line),
      "stroke-width": edge.strong ? 3.5 : edge.kind === "aside" ? 0.8 : 1.4 });
    if (edge.kind === "fold") line.setAttribute("stroke-dasharray", "2 3");
    else if (edge.kind === "near") line.setAttribute("stroke-dasharray", "6 4");
    else line.setAttribute("marker-end", own.includes(edge.kind) ? `url(#tip-${edge.kind})` : "url(#tip)");
    root.append(line);
    if (edge.text) root.append(words([edge.text], (x1 + x2) / 2, (y1 + y2) / 2, of.text, { halo: of.background }));
  }
  for (const one of boxes) root.append(frameOf(one, of), words(one.lines, one.x, one.y, of.text));
  legend.forEach(({ kind, text, strong }, place) => {
    const y = below + (place + 0.5) * ENTRY;
    if (of.kinds[kind]) root.append(frameOf({ kind, strong, x: left + MARGIN + 8, y, width: 16, height: 14 }, of));
    root.append(words([text], left + MARGIN + ENTRY, y, of.text, { anchor: "start" }));
  });
  return new XMLSerializer().serializeToString(root);
}

/** The rectangle of a box. */
function frameOf({ kind, strong, x, y, width, height }, of) {
  const { fill, line } = of.kinds[kind] ?? of.kinds.plain;
  const frame = shape("rect", { x: round(x - width / 2), y: round(y - height / 2), width: round(width), height: round(height), rx: 6,
    fill, stroke: line, "stroke-width": strong ? 3 : 1.5 });
  if (kind === "folded" || kind === "unknown") frame.setAttribute("stroke-dasharray", "4 3");
  if (kind === "coparents") frame.setAttribute("stroke-dasharray", "2 2");
  return frame;
}

function shape(tag, given) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(given)) element.setAttribute(name, String(value));
  return element;
}

function words(lines, x, y, colour, { size = FONT_SIZE, halo = null, anchor = "middle", weight = "normal" } = {}) {
  const text = shape("text", { "text-anchor": anchor, fill: colour, "font-size": size, "font-weight": weight });
  if (halo) {
    text.setAttribute("stroke", halo);
    text.setAttribute("stroke-width", "4");
    text.setAttribute("paint-order", "stroke");
  }
  lines.forEach((line, place) => {
    const row = shape("tspan", { x: round(x), y: round(y + (place - (lines.length - 1) / 2) * LINE + size * 0.35) });
    row.textContent = line;
    text.append(row);
  });
  return text;
}

/** The point at which the line from one box to another leaves the first. */
function border(one, other, edge) {
  if (edge.shift !== undefined) return attached(one, other, edge).map((offset, axis) => offset + [one.x, one.y][axis]);
  if (edge.sides && one.x !== other.x) return [one.x + Math.sign(other.x - one.x) * one.width / 2, one.y];
  const dx = other.x - one.x;
  const dy = other.y - one.y;
  const part = Math.min(1, one.width / 2 / Math.abs(dx || 1e-9), one.height / 2 / Math.abs(dy || 1e-9));
  return [one.x + dx * part, one.y + dy * part];
}

function round(number) {
  return Math.round(number * 10) / 10;
}
