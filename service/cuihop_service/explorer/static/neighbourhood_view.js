// What lies around a concept, hop by hop. Large families stay folded until they are asked for.

import { el, fill, counted, grouped, announce } from "./dom.js";
import { address, conceptAddress, direction as directionIn, go, note, whole } from "./address.js";
import { box, placedInLayers } from "./boxes.js";
import { conceptField } from "./concept_field.js";
import { cypherPanel, neighbourhoodCypher } from "./cypher.js";
import { directionChoice, directionInWords } from "./directions.js";
import { Picture } from "./picture.js";
import { reported } from "./problems.js";
import { saveButtons } from "./saving.js";
import { FAMILY, Surroundings } from "./surroundings.js";
import { wholeNeighbourhood } from "./whole_neighbourhood.js";

const FARTHEST = 6;

/** @type {import("./main.js").View} */
export async function neighbourhoodView(app, place, query, signal) {
  const asked = {
    cui: query.get("cui") ?? "",
    hops: whole(query.get("hops"), 1, 1, FARTHEST),
    direction: directionIn(query),
    open: query.get("open") ?? "",
    all: query.get("all") === "yes" ? "yes" : "",
  };
  document.title = "Neighbourhood – cuihop";
  const to = (changed) => {
    const next = { ...asked, ...changed };
    return address("neighbourhood", { cui: next.cui, hops: next.hops === 1 ? "" : next.hops,
      direction: next.direction === "any" ? "" : next.direction, open: next.open, all: next.all });
  };
  const centre = conceptField(app, { label: "Around", onchoose: (cui) => go(to({ cui, open: "" })) });
  const hops = el("select", { id: "hops-choice", onchange: () => go(to({ hops: Number(hops.value), open: "" })) },
    Array.from({ length: FARTHEST }, (_, i) => el("option", { value: i + 1, selected: i + 1 === asked.hops }, counted(i + 1, "hop"))));
  const answer = el("div", { id: "answer" });
  fill(
    place,
    el("h1", {}, "Neighbourhood"),
    el("div", { class: "card form" },
      centre.root,
      el("div", { class: "row" },
        el("label", {}, "Within ", hops),
        directionChoice(asked.direction, (direction) => go(to({ direction, open: "" }))))),
    answer,
  );
  if (!asked.cui) {
    centre.input.focus();
    return;
  }
  centre.show(asked.cui, null);
  fill(answer, el("p", { class: "waiting" }, "Asking …"));
  await reported(answer, signal, async () => {
    const around = new Surroundings(app, asked, signal);
    await around.grow();
    const name = around.nodes.get(around.centre)?.name ?? null;
    if (centre.input.value === asked.cui) centre.show(asked.cui, name);
    document.title = `Around ${name ?? around.centre} – cuihop`;
    show(app, answer, asked, around, to, signal);
  });
}

function show(app, place, asked, around, to, signal) {
  const chosen = el("p", { class: "chosen", "aria-live": "polite" }, "Choose a concept in the picture.");
  const table = el("div", {});
  const summary = el("p", { class: "figure", id: "total" });
  const cypher = el("div", {});
  const trouble = el("div", {});
  const others = el("p", {});
  const picture = new Picture({
    label: `Neighbourhood of ${around.nodes.get(around.centre)?.name ?? around.centre}`,
    onopen: (node) => (node.kind === "folded" ? unfold(node.id) : go(conceptAddress(node.cui))),
    onselect: (node) => fill(chosen, node.kind === "folded"
      ? [node.text, " ", el("button", { type: "button", class: "quiet small", onclick: () => unfold(node.id) }, "Unfold some")]
      : [el("b", {}, node.name ?? node.cui), " ", el("code", {}, node.cui), " ",
        el("a", { href: conceptAddress(node.cui) }, "Card"), " ",
        el("a", { href: to({ cui: node.cui, open: "" }) }, "Neighbourhood"), " ",
        node.cui !== around.centre && el("a", { href: address("path", { a: around.centre, b: node.cui }) }, "Path from the centre")]),
  });
  signal.addEventListener("abort", () => picture.destroy());

  async function unfold(id) {
    const near = around.folds().find((fold) => fold.id === id)?.cui ?? around.centre;
    await reported(trouble, signal, async () => {
      const before = around.nodes.size;
      await around.unfold(id);
      fill(trouble);
      note(to({ open: around.opened() }));
      draw(near);
      announce(`${counted(around.nodes.size - before, "more concept")} shown`);
    });
  }

  /** Draws what is known now; `near` is what must be seen. */
  function draw(near = around.centre) {
    const nodes = [...around.nodes.values()];
    const boxes = nodes.map((node) => box({ ...node, id: node.cui, kind: node.cui === around.centre ? "end" : "plain",
      note: node.cui === around.centre ? "centre" : counted(node.hops ?? 0, "hop") }));
    // The layers come of one shortest way to each concept; all edges at once would hide them.
    const tree = around.tree();
    const aside = around.edges.filter((edge) => !tree.has(edge)).map((edge) => ({ ...edge, kind: "aside" }));
    const edges = [...tree];
    for (const fold of around.folds()) {
      boxes.push(box({ id: fold.id, cui: null, name: null, kind: "folded", text: fold.text, note: "folded; Enter unfolds" }));
      edges.push(fold.upwards ? { from: fold.cui, to: fold.id, kind: "fold" } : { from: fold.id, to: fold.cui, kind: "fold" });
    }
    placedInLayers(boxes, edges);
    const drawn = asked.all ? [...aside, ...edges] : edges;
    picture.draw(boxes, drawn.map((edge) => ({ ...edge, sides: true })), near);
    fill(others, aside.length > 0 && el("label", { class: "inline" },
      el("input", { type: "checkbox", id: "all", checked: asked.all === "yes", onchange: (event) => {
        asked.all = event.target.checked ? "yes" : "";
        note(to({ open: around.opened() }));
        draw();
        document.getElementById("all")?.focus();
      } }), ` Draw ${counted(aside.length, "more is_a edge")} between these concepts, beside one shortest way to each`));
    const within = `${counted(around.total, "concept")} within ${counted(asked.hops, "hop")}`;
    fill(summary, within, " ", el("small", {}, `${directionInWords(asked.direction)}; ${grouped(nodes.length - 1)} shown`));
    const focused = document.activeElement?.id;
    fill(table, tableOf(around, unfold, table.querySelector("details")?.open ?? false));
    if (focused?.startsWith("unfold-")) (document.getElementById(focused) ?? table.querySelector("summary"))?.focus();
    fill(cypher, cypherPanel(neighbourhoodCypher(around.centre, asked.hops, asked.direction, nodes.map((node) => node.cui))));
  }

  fill(
    place,
    around.centre !== asked.cui && el("p", { class: "notice" }, `${asked.cui} is retired; ${around.centre} is its successor.`),
    summary,
    around.full > 0 && el("p", { class: "notice" }, `No more than ${grouped(around.full)} concepts are drawn. Choose fewer hops, or a narrower centre.`),
    trouble,
    picture.root,
    chosen,
    others,
    savings(app, asked, around, picture, signal),
    cypher,
    table,
  );
  draw();
  announce(summary.textContent ?? "");
}

/** All of the neighbourhood as files, not only what is drawn; where the service gives a part only, the file says so. */
function savings(app, asked, around, picture, signal) {
  /** @type {Awaited<ReturnType<typeof wholeNeighbourhood>> | null} */
  let fetched = null;
  const all = async () => (fetched ??= await wholeNeighbourhood(app, { ...asked, cui: around.centre }, signal));
  const left = () => (fetched ? fetched.total - (fetched.concepts.length - 1) : 0);
  const name = around.nodes.get(around.centre)?.name ?? around.centre;
  const written = (edges) => edges.map(({ from, to: parent }) => ({ child: from, parent }));
  return saveButtons(app, `around-${around.centre}-${asked.direction}-${asked.hops}`, `Neighbourhood of ${name}`, {
    picture,
    json: async () => {
      const { total, concepts, edges } = await all();
      return { centre: around.centre, hops: asked.hops, direction: asked.direction, total, left_out: left(),
        concepts: concepts.map(({ cui, name: named, hops, parents, children }) => ({ cui, name: named, hops, parents, children })),
        edges: edges && written(edges),
        edges_left_out: edges ? null : `more than ${grouped(app.release.limits.pack_concepts)} concepts`,
        drawn: { concepts: [...around.nodes.keys()], edges: written(around.edges),
          folded: around.folds().map(({ cui, upwards, left: more }) => ({ cui, relation: upwards ? "parent" : "child", left: more })) } };
    },
    csv: async () => [["cui", "name", "hops", "parents", "children"],
      ...(await all()).concepts.map(({ cui, name: named, hops, parents, children }) => [cui, named ?? "", hops, parents, children])],
    part: () => (fetched && left() > 0 ? `nearest-${fetched.concepts.length - 1}-of-${fetched.total}` : ""),
  }, signal);
}

/** The same as a table: what the picture shows, for those who cannot see it. */
function tableOf(around, unfold, open) {
  const rows = [...around.nodes.values()].filter((node) => node.cui !== around.centre);
  rows.sort((one, other) => (one.hops ?? 0) - (other.hops ?? 0) || (one.cui < other.cui ? -1 : 1));
  const folds = around.folds();
  return el(
    "details",
    { open },
    el("summary", {}, "As a table"),
    folds.length > 0 && el("ul", { class: "folds" }, folds.map((fold) => el("li", {},
      el("button", { type: "button", class: "quiet small", id: `unfold-${fold.id.replace(" ", "-")}`, onclick: () => unfold(fold.id) },
        `Unfold ${Math.min(FAMILY, fold.left)} of ${grouped(fold.left)} ${fold.upwards ? "parents" : "children"} of ${fold.name}`)))),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Concepts" }, el("table", {},
      el("thead", {}, el("tr", {}, ["Hops", "Concept", "CUI", "Parents", "Children"].map((head) => el("th", { scope: "col" }, head)))),
      el("tbody", {}, rows.map((node) => el("tr", {},
        el("td", {}, node.hops ?? ""), el("td", {}, el("a", { href: conceptAddress(node.cui) }, node.name ?? node.cui)),
        el("td", {}, el("code", {}, node.cui)), el("td", {}, grouped(node.parents)), el("td", {}, grouped(node.children))))))),
  );
}
