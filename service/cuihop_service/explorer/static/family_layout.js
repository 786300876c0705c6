// Places of the boxes of a neighbourhood: the centre in the middle, broader concepts on the left and narrower ones on
// the right of it, and from there outwards, a column for each hop. The ends of a family share a frame.

const TOGETHER = 5; // concepts, at least, in a frame
const BETWEEN = 8; // boxes, from top to bottom
const COLUMNS = 60; // between columns
const WIDE = 0.8; // columns of a frame for each row, about

/**
 * Places the boxes. Concepts beyond which nothing is drawn, and which hang on one concept the same way, share a frame
 * of several columns, and one edge leads to the frame.
 * @param {import("./boxes.js").Box[]} boxes in the order in which they stand from top to bottom
 * @param {import("./boxes.js").Edge[]} edges of a tree
 * @param {string} centre
 * @param {number} room width of the picture
 * @returns {{frames: import("./boxes.js").Box[], edges: import("./boxes.js").Edge[]}} what is drawn with the boxes
 */
export function placedInFamilies(boxes, edges, centre, room) {
  const at = new Map(boxes.map((one, rank) => [one.id, { one, rank, beside: [] }]));
  for (const edge of edges) for (const end of [edge.from, edge.to]) at.get(end)?.beside.push(edge);
  const found = { frames: [], drawn: new Set(edges) };
  const middle = at.get(centre);
  for (const [direction, upwards] of [[-1, true], [1, false]]) {
    const units = unitsOf(middle, middle.beside.filter((edge) => (edge.from === centre) === upwards), at, found, room);
    const widths = [middle.one.width];
    measure(units, 1, widths);
    const starts = [...widths, 0].map((_, depth) => widths.slice(0, depth).reduce((sum, width) => sum + width + COLUMNS, -widths[0] / 2));
    place(units, 1, starts, direction, 0);
  }
  for (const frame of found.frames) for (const { one, dx, dy } of frame.members) [one.x, one.y] = [frame.x + dx, frame.y + dy];
  return { frames: found.frames, edges: [...found.drawn] };
}

/**
 * What hangs on a concept by some edges: boxes with what hangs on them, and frames.
 * @returns {{one: import("./boxes.js").Box, units: any[]}[]}
 */
function unitsOf({ one: { id } }, edges, at, found, room) {
  const others = edges.map((edge) => ({ edge, upwards: edge.from === id, other: at.get(edge.from === id ? edge.to : edge.from) }))
    .sort((one, another) => one.other.rank - another.other.rank);
  const units = [];
  for (const upwards of [true, false]) {
    const ends = others.filter(({ other, upwards: way }) => way === upwards && other.beside.length === 1);
    const together = ends.length >= TOGETHER;
    for (const { edge, other, upwards: way } of others) {
      if (way !== upwards || (together && other.beside.length === 1)) continue;
      units.push({ one: other.one, units: unitsOf(other, other.beside.filter((next) => next !== edge), at, found, room) });
    }
    if (!together) continue;
    const frame = frameOf(`${upwards ? "parents" : "children"} ${id}`, ends.map(({ other }) => other.one), room);
    found.frames.push(frame);
    for (const { edge } of ends) found.drawn.delete(edge);
    found.drawn.add(upwards ? { from: id, to: frame.id } : { from: frame.id, to: id });
    units.push({ one: frame, units: [] });
  }
  return units;
}

/** The widest box of each column on which something hangs. */
function measure(units, depth, widths) {
  for (const unit of units) {
    if (!unit.units.length) continue;
    widths[depth] = Math.max(widths[depth] ?? 0, unit.one.width);
    measure(unit.units, depth + 1, widths);
  }
}

function heightOf(units) {
  return units.reduce((sum, unit) => sum + tall(unit) + BETWEEN, -BETWEEN);
}

function tall(unit) {
  return Math.max(unit.one.height, unit.units.length ? heightOf(unit.units) : 0);
}

/** Places units from top to bottom around a height, each with what hangs on it further out. */
function place(units, depth, starts, direction, middle) {
  let top = middle - heightOf(units) / 2;
  for (const unit of units) {
    unit.one.x = direction * (starts[depth] + unit.one.width / 2);
    unit.one.y = top + tall(unit) / 2;
    place(unit.units, depth + 1, starts, direction, unit.one.y);
    top += tall(unit) + BETWEEN;
  }
}

/** A frame around boxes in columns, read from top to bottom. */
function frameOf(key, boxes, room) {
  const width = Math.max(...boxes.map((one) => one.width)) + BETWEEN;
  const columns = Math.max(1, Math.min(Math.round(Math.sqrt(boxes.length * WIDE)), Math.floor(room / width)));
  const rows = Math.ceil(boxes.length / columns);
  const heights = Array.from({ length: rows }, (_, row) =>
    Math.max(...boxes.filter((_one, rank) => rank % rows === row).map((one) => one.height)) + BETWEEN);
  const tops = heights.map((_, row) => heights.slice(0, row).reduce((sum, height) => sum + height, 0));
  const size = { width: Math.ceil(boxes.length / rows) * width + BETWEEN, height: tops[rows - 1] + heights[rows - 1] + BETWEEN };
  const members = boxes.map((one, rank) => ({
    one,
    dx: (BETWEEN - size.width + width) / 2 + Math.floor(rank / rows) * width,
    dy: (BETWEEN - size.height + heights[rank % rows]) / 2 + tops[rank % rows],
  }));
  return { id: `family ${key}`, cui: null, name: null, kind: "family", lines: [], x: 0, y: 0, ...size, members };
}
