// Positions of the boxes of a neighbourhood: a column for each level. Along every edge of the tree the broader
// concept stands left of the narrower one. What the centre reaches straight up or down stands in its band. A lane begins
// at each turn of a path: below the band with what is narrower than a broader concept (siblings), above it with what is
// broader than a narrower one. The ends of a family share a frame.

import { LINE, box, textWidth } from "./boxes.js";

const TOGETHER = 5; // concepts, at least, in a frame
const BETWEEN = 8; // boxes, from top to bottom
const COLUMNS = 60; // between columns
const COLUMNS_CLOSE = 32; // where there is little room
const WIDE = 0.8; // columns of a frame for each row, about
const LANE = 0.6; // part of the room that the frame of a lane may take
const LANES = 22; // between lanes
const HEAD = LINE + 6; // height of a lane's title
const MOST_LEVELS = 400; // as many as concepts are drawn
const LONGEST = 30; // letters of a name in a title

/**
 * Places the boxes. Concepts beyond which nothing is drawn, and which hang on one concept in one direction, share a frame
 * of several columns, and one edge leads to the frame.
 * @param {import("./boxes.js").Box[]} boxes in the order in which they stand from top to bottom
 * @param {import("./boxes.js").Edge[]} edges of a tree
 * @param {string} centre
 * @param {number} room width of the picture
 * @returns {{frames: import("./boxes.js").Box[], edges: import("./boxes.js").Edge[]}} what is drawn with the boxes:
 *   frames of the kinds `family`, `siblings` (a lane below) and `coparents` (a lane above)
 */
export function placedInFamilies(boxes, edges, centre, room) {
  const at = new Map(boxes.map((one, rank) => [one.id, { one, rank, beside: [] }]));
  for (const edge of edges) for (const end of [edge.from, edge.to]) at.get(end)?.beside.push(edge);
  const middle = at.get(centre);
  const plan = { at, room, frames: [], lanes: [], drawn: new Set(edges), widths: new Map([[0, middle.one.width]]) };
  const turned = [];
  const band = [true, false].map((upwards) => unitsOf(plan, middle, null, upwards, 0, turned));
  const sides = sidesOf(plan.widths, room < 600 ? COLUMNS_CLOSE : COLUMNS);
  for (const units of band) place(units, sides, 0);
  const half = Math.max(middle.one.height, ...band.map(heightOf)) / 2;
  const [above, below] = [true, false].map((upwards) => turned.filter((lane) => lane.upwards === upwards)
    .sort((one, other) => other.level - one.level)); // no edge to a lane then crosses another lane
  stack(plan, above, sides, -half - above.reduce((sum, lane) => sum + deep(lane), 0));
  stack(plan, below, sides, half + LANES);
  for (const frame of plan.frames) for (const { one, dx, dy } of frame.members) [one.x, one.y] = [frame.x + dx, frame.y + dy];
  return { frames: [...plan.lanes, ...plan.frames.filter((frame) => !frame.merged)], edges: [...plan.drawn] };
}

/**
 * What hangs on a concept in one direction: boxes with what hangs on them in it, and frames. What hangs on those in the
 * other direction is added to `turned` as lanes.
 * @returns {{one: import("./boxes.js").Box, level: number, upwards: boolean, units: any[]}[]}
 */
function unitsOf(plan, { one: { id }, beside }, cameBy, upwards, above, turned, inLane = false) {
  const level = above + (upwards ? -1 : 1);
  const others = beside.filter((edge) => edge !== cameBy && (edge.from === id) === upwards)
    .map((edge) => ({ edge, other: plan.at.get(upwards ? edge.to : edge.from) }))
    .sort((one, another) => one.other.rank - another.other.rank);
  const ends = others.filter(({ other }) => other.beside.length === 1);
  const together = ends.length >= (inLane ? 2 : TOGETHER);
  const units = [];
  for (const { edge, other } of others) {
    if (together && other.beside.length === 1) continue;
    const unit = { one: other.one, level, upwards, units: unitsOf(plan, other, edge, upwards, level, turned) };
    if (unit.units.length) plan.widths.set(level, Math.max(plan.widths.get(level) ?? 0, other.one.width));
    units.push(unit);
    const lane = { of: other.one, upwards: !upwards, level: above, lanes: [] };
    lane.units = unitsOf(plan, other, edge, !upwards, level, lane.lanes, true);
    if (lane.units.length) turned.push(titled(lane));
  }
  if (!together) return units;
  const frame = frameOf(`${upwards ? "parents" : "children"} ${id}`, ends.map(({ other }) => other.one), plan.room, inLane);
  plan.frames.push(frame);
  for (const { edge } of ends) plan.drawn.delete(edge);
  plan.drawn.add(upwards ? { from: id, to: frame.id } : { from: frame.id, to: id });
  units.push({ one: frame, level, upwards, units: [] });
  return units;
}

/** A lane with its title, and how high it is. A single box of concepts that are not drawn says itself what they hang on. */
function titled(lane) {
  const { of, units, upwards } = lane;
  const name = of.name ?? of.cui ?? "";
  const title = `also ${upwards ? "broader" : "narrower"} than ${name.length > LONGEST ? `${name.slice(0, LONGEST)}…` : name}`;
  const [{ one }] = units;
  lane.title = title;
  if (units.length === 1 && one.kind === "folded") {
    lane.title = "";
    Object.assign(one, box({ ...one, text: `${one.text} of ${name}` }));
  }
  lane.kind = upwards ? "coparents" : "siblings";
  lane.height = heightOf(units) + (lane.title ? HEAD + 2 * BETWEEN : 0);
  return lane;
}

/** The left and right side of each column, by its level. */
function sidesOf(widths, apart) {
  const half = widths.get(0) / 2;
  const sides = new Map([[0, { left: -half, right: half }]]);
  for (const step of [-1, 1]) {
    for (let level = step; Math.abs(level) <= MOST_LEVELS; level += step) {
      const near = sides.get(level - step);
      const width = widths.get(level) ?? 0;
      sides.set(level, step < 0 ? { left: near.left - apart - width, right: near.left - apart }
        : { left: near.right + apart, right: near.right + apart + width });
    }
  }
  return sides;
}

function heightOf(units) {
  return units.reduce((sum, unit) => sum + tall(unit) + BETWEEN, -BETWEEN);
}

function tall(unit) {
  return Math.max(unit.one.height, unit.units.length ? heightOf(unit.units) : 0);
}

/** Height of a lane with those that begin in it, and the space below each. */
function deep(lane) {
  return lane.height + (lane.title ? LANES : BETWEEN) + lane.lanes.reduce((sum, inner) => sum + deep(inner), 0);
}

/** Places units from top to bottom around a height, each with what hangs on it further out. */
function place(units, sides, middle) {
  let top = middle - heightOf(units) / 2;
  for (const unit of units) {
    const { left, right } = sides.get(unit.level);
    unit.one.x = unit.upwards ? right - unit.one.width / 2 : left + unit.one.width / 2;
    unit.one.y = top + tall(unit) / 2;
    place(unit.units, sides, unit.one.y);
    top += tall(unit) + BETWEEN;
  }
}

/** Positions lanes one below the other, each followed by those that begin in it. */
function stack(plan, lanes, sides, from) {
  let top = from;
  for (const lane of lanes) {
    place(lane.units, sides, top + lane.height - (lane.title ? BETWEEN : 0) - heightOf(lane.units) / 2);
    if (lane.title) plan.lanes.push(around(lane, top));
    stack(plan, lane.lanes, sides, top + lane.height + (lane.title ? LANES : BETWEEN));
    top += deep(lane);
  }
}

/** The box of a lane, around all that stands in it. */
function around(lane, top) {
  const all = (units) => units.flatMap((unit) => [unit.one, ...all(unit.units)]);
  const boxes = all(lane.units);
  const [frame] = lane.units.length === 1 && boxes[0].members ? boxes : [];
  if (frame) frame.merged = true; // one box is enough
  let left = Math.min(...boxes.map((one) => one.x - one.width / 2)) - BETWEEN;
  let right = Math.max(...boxes.map((one) => one.x + one.width / 2)) + BETWEEN;
  const missing = Math.max(0, textWidth(lane.title) + 2 * BETWEEN - (right - left));
  if (lane.upwards) left -= missing;
  else right += missing;
  return { id: frame?.id ?? `lane ${lane.kind} ${lane.of.id}`, cui: null, name: null, kind: lane.kind, lines: [lane.title],
    x: (left + right) / 2, y: top + lane.height / 2, width: right - left, height: lane.height };
}

/** A frame around boxes in columns, read from top to bottom. */
function frameOf(key, boxes, room, inLane) {
  const width = Math.max(...boxes.map((one) => one.width)) + BETWEEN;
  const columns = inLane ? Math.min(boxes.length, Math.max(3, Math.floor(room * LANE / width)))
    : Math.max(1, Math.min(Math.round(Math.sqrt(boxes.length * WIDE)), Math.floor(room / width)));
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
