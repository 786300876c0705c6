// A picture of concepts: drawn by Cytoscape, walked through by keyboard, saved as PNG and SVG.

import cytoscape from "./vendor/cytoscape.esm.min.mjs";
import { el, fill, announce } from "./dom.js";
import { FONT, FONT_SIZE, LINE, attached, boundsOf } from "./boxes.js";
import { svgOf } from "./svg.js";

const LARGEST_ZOOM = 1.15; // at first sight
const SMALLEST_ZOOM = 12 / FONT_SIZE; // at first sight: smaller text cannot be read, and is better scrolled to
const STEP = 1.25;
const MARGIN = 20;
const LEAST_HEIGHT = 170;
const MOST_PART = 0.75; // of the window's height
const TALLEST = 1400; // pixels, of a tall one
const MOST_SIDE = 16_000; // pixels of a saved picture, which browsers still draw
const MOST_PIXELS = 100_000_000;

const SABS = Array.from({ length: 8 }, (_, place) => `sab-${place + 1}`); // edges by their vocabulary

/** Colours by kind, from the style sheet, so that one place knows the appearance. */
export function colours() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(name).trim();
  const kinds = ["plain", "end", "folded", "matched", "near", "alone", "unknown", "family", "siblings", "coparents",
    ...Array.from({ length: 8 }, (_, place) => `group-${place + 1}`)];
  return {
    background: read("--surface"),
    line: read("--picture-line"),
    quietLine: read("--picture-quiet-line"),
    text: read("--text"),
    mark: read("--accent"),
    kinds: Object.fromEntries([
      ...kinds.map((kind) => [kind, { fill: read(`--${kind}-fill`), line: read(`--${kind}-line`) }]),
      ...SABS.map((kind, place) => [kind, { fill: read(`--group-${place + 1}-line`), line: read(`--group-${place + 1}-line`) }]),
    ]),
  };
}

function styles() {
  const of = colours();
  return [
    {
      selector: "node",
      style: {
        shape: "round-rectangle", width: "data(width)", height: "data(height)", label: "data(label)", color: of.text,
        "font-family": FONT, "font-size": FONT_SIZE, "line-height": LINE / FONT_SIZE / 1.0, "text-wrap": "wrap",
        "text-max-width": "400px", "text-valign": "center", "text-halign": "center", "border-width": 1.5,
        "background-color": of.kinds.plain.fill, "border-color": of.kinds.plain.line, "overlay-opacity": 0,
      },
    },
    ...Object.entries(of.kinds).map(([kind, { fill, line }]) => ({
      selector: `node[kind = "${kind}"]`,
      style: {
        "background-color": fill, "border-color": line,
        "border-style": kind === "coparents" ? "dotted" : kind === "folded" || kind === "unknown" ? "dashed" : "solid",
      },
    })),
    { selector: "node[?strong]", style: { "border-width": 3 } },
    { selector: "node[?frame]", style: { events: "no", "border-width": 1, "z-index": -1, "z-index-compare": "manual",
      "text-valign": "top", "text-margin-y": LINE + 5, "font-style": "italic" } },
    { selector: 'node[kind = "family"]', style: { "z-index": 0 } },
    {
      selector: "edge",
      style: {
        width: 1.4, "line-color": of.line, "target-arrow-color": of.line, "target-arrow-shape": "triangle",
        "arrow-scale": 0.9, "curve-style": "bezier", "source-endpoint": "data(start)", "target-endpoint": "data(end)", label: "data(text)", color: of.text, "font-family": FONT,
        "font-size": FONT_SIZE, "text-background-color": of.background, "text-background-opacity": 1,
        "text-background-padding": "2px", "overlay-opacity": 0,
      },
    },
    ...SABS.map((kind) => ({
      selector: `edge[kind = "${kind}"]`,
      style: { "line-color": of.kinds[kind].line, "target-arrow-color": of.kinds[kind].line, "curve-style": "straight" },
    })),
    { selector: "edge[?strong]", style: { width: 3.5, "arrow-scale": 1.1, "z-index": 1, "z-index-compare": "manual" } },
    { selector: 'edge[kind = "aside"]', style: { "line-color": of.quietLine, "target-arrow-color": of.quietLine, width: 0.8, "arrow-scale": 0.7 } },
    { selector: 'edge[kind = "fold"]', style: { "line-style": "dotted", "target-arrow-shape": "none", "line-color": of.quietLine } },
    { selector: 'edge[kind = "near"]', style: { "line-style": "dashed", "target-arrow-shape": "none", "curve-style": "straight" } },
    { selector: "node:selected", style: { "outline-width": 3, "outline-color": of.mark, "outline-offset": 3, "outline-style": "solid" } },
  ];
}

/** The points at which an edge begins and ends: in layers at the sides that face one another, else where it meets the box. */
function ends(edge, at) {
  const [from, to] = [at.get(edge.from), at.get(edge.to)];
  if (edge.shift !== undefined) {
    const [start, end] = [attached(from, to, edge), attached(to, from, edge)].map(([x, y]) => `${x}px ${y}px`);
    return { start, end };
  }
  if (!edge.sides || from.x === to.x) return { start: "outside-to-node", end: "outside-to-node" };
  return from.x > to.x ? { start: "-50% 0%", end: "50% 0%" } : { start: "50% 0%", end: "-50% 0%" };
}

export class Picture {
  /**
   * A picture to be drawn later: see `draw`.
   * @param {{label: string, onopen: (node: any) => void, onselect?: (node: any) => void, onexpand?: (node: any) => void}} options
   */
  constructor({ label, onopen, onselect, onexpand }) {
    this.onopen = onopen;
    this.onselect = onselect;
    this.onexpand = onexpand;
    this.canvas = el("div", {
      class: "canvas", tabindex: "0", role: "application", "aria-label": label,
      "aria-roledescription": "picture of concepts",
    });
    // The page scrolls a sheet as large as the picture; the canvas stays in sight, and draws what is to be seen.
    this.sheet = el("div", {}, this.canvas);
    this.scroller = el("div", { class: "scroller" }, this.sheet);
    this.larger = el("small", { hidden: true }, "Larger than its window: scroll or drag it.");
    const button = (text, name, act) =>
      el("button", { type: "button", class: "quiet", "aria-label": name, title: name, onclick: act }, text);
    this.key = el("ul", { class: "legend", "aria-label": "Legend" });
    this.root = el(
      "div",
      {},
      el("div", { class: "picture" },
        el("div", { class: "zoom" }, this.larger,
          button("+", "Zoom in", () => this.#zoom(STEP)),
          button("−", "Zoom out", () => this.#zoom(1 / STEP)),
          button("⤢", "Show all", () => this.#showAll())),
        this.scroller),
      this.key,
    );
    this.scroller.addEventListener("scroll", () => this.#follow());
    for (const kind of ["touchstart", "touchmove"]) {
      this.scroller.addEventListener(kind, (event) => {
        this.swiped = kind === "touchmove";
        if (this.swiped && event.touches.length === 1) event.stopPropagation(); // one finger scrolls, which Cytoscape would prevent
      }, { capture: true, passive: true });
    }
    this.resized = new ResizeObserver(() => this.#settle());
    this.resized.observe(this.scroller);
    this.canvas.addEventListener("keydown", (event) => this.#key(event));
    this.canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) event.stopImmediatePropagation(); // the wheel moves the page
    }, { capture: true });
    this.repaint = () => this.cy?.style(styles());
    addEventListener("appearance", this.repaint);
  }

  /**
   * @param {import("./boxes.js").Box[]} boxes placed
   * @param {import("./boxes.js").Edge[]} edges
   * @param {{tall?: boolean, centre?: string|null, frames?: import("./boxes.js").Box[], legend?: {kind: string, text: string, strong?: boolean}[]}} [options]
   *   `tall` lets it be higher than the window; `centre` must be seen at first sight; `frames` lie behind the boxes; `legend` says what their kinds mean
   */
  draw(boxes, edges, { tall = false, centre = null, frames = [], legend = [] } = {}) {
    Object.assign(this, { boxes, edges, frames, legend, centre });
    fill(this.key, legend.map(({ kind, text, strong }) => el("li", {}, el("span", { class: `swatch ${kind}${strong ? " strong" : ""}` }), text)));
    const all = [...frames, ...boxes];
    const at = new Map(all.map((one) => [one.id, one]));
    const view = this.cy && { zoom: this.cy.zoom(), selected: this.selected(),
      place: centre !== null && this.cy.getElementById(centre).renderedPosition() };
    this.cy?.destroy();
    this.bounds = boundsOf(all);
    this.sheet.style.width = this.sheet.style.height = "0"; // the last one may have been larger
    this.scroller.style.height = `${this.#height(tall ? TALLEST : innerHeight * MOST_PART)}px`;
    this.canvas.style.width = `${this.scroller.clientWidth}px`;
    this.canvas.style.height = `${this.scroller.clientHeight}px`;
    this.cy = cytoscape({
      container: this.canvas,
      elements: [
        ...all.map((one) => ({
          group: "nodes",
          data: { id: one.id, kind: one.kind, strong: one.strong, label: one.lines.join("\n"), width: one.width, height: one.height, frame: frames.includes(one) },
          selectable: !frames.includes(one),
          position: { x: one.x, y: one.y },
        })),
        ...edges.map((edge, place) => ({
          group: "edges",
          data: { id: `edge ${place}`, source: edge.from, target: edge.to, kind: edge.kind ?? "is_a", text: edge.text ?? "", strong: edge.strong,
            ...ends(edge, at) },
          selectable: false,
        })),
      ],
      style: styles(),
      layout: { name: "preset", fit: false },
      minZoom: 0.05,
      maxZoom: 3,
      autoungrabify: true,
      boxSelectionEnabled: false,
      selectionType: "single",
    });
    if (view?.place) {
      const { x, y } = at.get(centre);
      this.cy.viewport({ zoom: view.zoom, pan: { x: view.place.x - x * view.zoom, y: view.place.y - y * view.zoom } });
    } else this.#firstSight(centre);
    this.#settle();
    this.cy.on("dragpan scrollzoom pinchzoom", () => this.#settle());
    this.cy.on("tap", "node", (event) => {
      if (this.swiped && event.originalEvent?.type === "touchend") return;
      const node = this.#node(event.target.id());
      if (node.kind === "folded") this.onopen(node);
      else this.onselect?.(node);
    });
    this.cy.on("dbltap", "node", (event) => this.onopen(this.#node(event.target.id())));
    if (view?.selected && boxes.some((one) => one.id === view.selected)) this.cy.getElementById(view.selected).select();
  }

  /** Ends it; its listeners too. */
  destroy() {
    removeEventListener("appearance", this.repaint);
    this.resized.disconnect();
    this.cy?.destroy();
    this.cy = undefined;
  }

  /** @param {{title: string, note: string}} heading @returns {Promise<Blob>} */
  async png(heading) {
    const address = URL.createObjectURL(new Blob([this.svg(heading)], { type: "image/svg+xml" }));
    try {
      const image = new Image();
      image.src = address;
      await image.decode();
      const { naturalWidth: width, naturalHeight: height } = image;
      const scale = Math.min(2, MOST_SIDE / Math.max(width, height), Math.sqrt(MOST_PIXELS / (width * height)));
      const canvas = el("canvas", { width: Math.round(width * scale), height: Math.round(height * scale) });
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      return await new Promise((done) => canvas.toBlob(done, "image/png"));
    } finally {
      URL.revokeObjectURL(address);
    }
  }

  /** @param {{title: string, note: string}} heading */
  svg(heading) {
    return svgOf(this, heading, colours());
  }

  #node(id) {
    return this.boxes.find((one) => one.id === id);
  }

  /** The identifier of the selected box, if any. */
  selected() {
    return this.cy?.$("node:selected").id();
  }

  /** As high as the picture is at first sight, within reason. */
  #height(most) {
    const { width, height } = this.bounds;
    const zoom = Math.min(LARGEST_ZOOM, Math.max(SMALLEST_ZOOM, (this.scroller.clientWidth - 2 * MARGIN) / width));
    return Math.round(Math.max(LEAST_HEIGHT, Math.min(most, height * zoom + 4 * MARGIN)));
  }

  /** Lets the sheet be as large as the picture now is, and scrolls to where the picture was moved. */
  #settle() {
    const { cy, scroller, sheet, canvas, bounds } = this;
    if (!cy || !scroller.clientWidth) return;
    const zoom = cy.zoom();
    const pan = { ...cy.pan() };
    sheet.style.width = `${Math.ceil(bounds.width * zoom + 2 * MARGIN)}px`;
    sheet.style.height = `${Math.ceil(bounds.height * zoom + 2 * MARGIN)}px`;
    canvas.style.width = `${scroller.clientWidth}px`;
    canvas.style.height = `${scroller.clientHeight}px`;
    this.larger.hidden = sheet.offsetWidth <= scroller.clientWidth && sheet.offsetHeight <= scroller.clientHeight;
    cy.resize();
    canvas.dataset.text = (FONT_SIZE * zoom).toFixed(1); // pixels on the screen
    scroller.scrollLeft = MARGIN - bounds.left * zoom - pan.x;
    scroller.scrollTop = MARGIN - bounds.top * zoom - pan.y;
    this.#follow();
  }

  /** Draws what the page has scrolled to; a small picture in the middle. */
  #follow() {
    const { cy, scroller, bounds } = this;
    if (!cy) return;
    const zoom = cy.zoom();
    const free = (whole, part) => Math.max(0, whole - part * zoom - 2 * MARGIN) / 2;
    cy.pan({ x: free(scroller.clientWidth, bounds.width) + MARGIN - bounds.left * zoom - scroller.scrollLeft,
      y: free(scroller.clientHeight, bounds.height) + MARGIN - bounds.top * zoom - scroller.scrollTop });
  }

  #showAll() {
    this.cy?.fit(undefined, MARGIN);
    this.#settle();
  }

  #firstSight(centre) {
    const { cy } = this;
    cy.fit(undefined, MARGIN);
    if (cy.zoom() > LARGEST_ZOOM) {
      cy.zoom(LARGEST_ZOOM);
      cy.center();
    } else if (cy.zoom() < SMALLEST_ZOOM) {
      cy.zoom(SMALLEST_ZOOM);
      if (centre === null) cy.pan({ x: MARGIN - this.bounds.left * SMALLEST_ZOOM, y: MARGIN - this.bounds.top * SMALLEST_ZOOM });
      else cy.center(cy.getElementById(centre));
    }
  }

  #zoom(factor) {
    const { cy } = this;
    cy?.zoom({ level: cy.zoom() * factor, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });
    this.#settle();
  }

  #key(event) {
    const { cy } = this;
    if (!cy || event.ctrlKey || event.metaKey || event.altKey) return;
    const ways = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
    if (event.key in ways) this.#walk(ways[event.key]);
    else if (event.key === "Enter" || event.key === " ") {
      const id = cy.$("node:selected").id();
      if (id) this.onopen(this.#node(id));
    } else if (event.key === "+" || event.key === "=") this.#zoom(STEP);
    else if (event.key === "-") this.#zoom(1 / STEP);
    else if (event.key === "0") this.#showAll();
    else if (event.key.toLowerCase() === "e" && this.selected()) this.onexpand?.(this.#node(this.selected()));
    else return;
    event.preventDefault();
  }

  /** Selects the nearest concept that way. */
  #walk([dx, dy]) {
    const { cy } = this;
    const now = this.#node(cy.$("node:selected").id());
    let best = now ? null : (this.#node(this.centre) ?? this.boxes[0]);
    let least = Infinity;
    for (const one of now ? this.boxes : []) {
      const along = (one.x - now.x) * dx + (one.y - now.y) * dy;
      const aside = Math.abs((one.x - now.x) * dy) + Math.abs((one.y - now.y) * dx);
      if (along > 1 && along + 2.5 * aside < least) {
        least = along + 2.5 * aside;
        best = one;
      }
    }
    if (!best) return;
    cy.$("node:selected").unselect();
    const node = cy.getElementById(best.id);
    node.select();
    const seen = node.renderedBoundingBox();
    if (seen.x1 < 0 || seen.y1 < 0 || seen.x2 > cy.width() || seen.y2 > cy.height()) {
      cy.center(node);
      this.#settle();
    }
    announce(`${best.text ?? best.name ?? ""} ${best.cui ?? ""} ${best.note ?? ""}`.trim());
    this.onselect?.(best);
  }
}
