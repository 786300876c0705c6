// Concepts as boxes: what is written in them, how large they are, and where those of a comparison stand.

export const FONT_SIZE = 13;
export const LINE = 17;
export const FONT = "system-ui, Segoe UI, Roboto, Liberation Sans, DejaVu Sans, sans-serif"; // as Cytoscape reads it: without quotes
const WIDEST = 150; // of the text
const MOST_LINES = 3;
const AROUND = 12;
const UNDER = 14;
const COLUMNS_APART = 200;
const COLUMNS_CLOSE = 70; // where there is little room

/**
 * @typedef {{id: string, cui: string|null, name: string|null, kind: string, text?: string, note?: string, strong?: boolean,
 *   mark?: string, brief?: boolean}} Node
 * `text` is written in place of name and identifier; `mark` before the name; `brief` leaves the identifier out.
 * @typedef {{from: string, to: string, kind?: string, text?: string, sides?: boolean, shift?: number, strong?: boolean}} Edge from the narrower concept to the broader one
 * `sides`: the edge goes from side to side, where boxes stand in columns. `shift`: pixels aside from the middle of the
 * sides, or of top and bottom, for parallel edges.
 * @typedef {Node & {lines: string[], width: number, height: number, x: number, y: number}} Box
 */

const pen = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
pen.font = `${FONT_SIZE}px ${FONT}`;

/** Width of a text in the pictures' font, in pixels. */
export function textWidth(text, size = FONT_SIZE) {
  return pen.measureText(text).width * size / FONT_SIZE;
}

/** @param {Node} node @returns {Box} */
export function box(node) {
  const lines = wrapped(node.text ?? [node.mark, node.name ?? node.cui].filter(Boolean).join(" "));
  if (!node.text && !node.brief && node.name && node.cui) lines.push(endOf(node.cui));
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
  const visible = lines.slice(0, MOST_LINES).map(shortened);
  if (lines.length > MOST_LINES) visible[MOST_LINES - 1] = shortened(`${visible[MOST_LINES - 1]} …`, true);
  return visible;
}

function shortened(line) {
  if (pen.measureText(line).width <= WIDEST) return line;
  let end = line.length;
  while (end > 1 && pen.measureText(`${line.slice(0, end)}…`).width > WIDEST) end -= 1;
  return `${line.slice(0, end)}…`;
}

/** An identifier, of a long one its end: identifiers of one vocabulary begin alike. */
function endOf(cui) {
  let begin = 0;
  while (pen.measureText(begin ? `…${cui.slice(begin)}` : cui).width > WIDEST) begin += 1;
  return begin ? `…${cui.slice(begin)}` : cui;
}

/** The rectangle around boxes. */
export function boundsOf(boxes) {
  const [left, top] = [Math.min(...boxes.map((one) => one.x - one.width / 2)), Math.min(...boxes.map((one) => one.y - one.height / 2))];
  return { left, top, width: Math.max(...boxes.map((one) => one.x + one.width / 2)) - left,
    height: Math.max(...boxes.map((one) => one.y + one.height / 2)) - top };
}

/** The point at which an edge with a `shift` leaves the first box, from the middle of that box. @returns {[number, number]} */
export function attached(one, other, { sides, shift = 0 }) {
  return sides ? [Math.sign(other.x - one.x) * one.width / 2, shift] : [shift, Math.sign(other.y - one.y) * one.height / 2];
}

/**
 * Two columns, and above them, in the middle, what belongs to both.
 * @param {Box[]} left @param {Box[]} both @param {Box[]} right @param {number} room width that there is
 */
export function placedInColumns(left, both, right, room) {
  const [widest, other] = [left, right].map((column) => Math.max(0, ...column.map((one) => one.width)));
  const between = widest + other + COLUMNS_APART > room ? COLUMNS_CLOSE : COLUMNS_APART;
  const apart = (widest + other) / 2 + between;
  const down = (column, x, top) => column.reduce((y, one) => {
    one.x = x;
    one.y = y + one.height / 2;
    return y + one.height + UNDER;
  }, top);
  const top = down(both, 0, 0);
  down(left, -apart / 2, top);
  down(right, apart / 2, top);
}
