// What lies around a concept: as a picture, or, where that would be too large, as a table.

import { el, fill, counted, radioChoice, announce } from "./dom.js";
import { address, direction as directionIn, go, note, whole } from "./address.js";
import { conceptChips } from "./concept_chips.js";
import { conceptTable } from "./concept_table.js";
import { cypherPanel, neighbourhoodCypher } from "./cypher.js";
import { COLOURINGS } from "./groups.js";
import { neighbourhoodPicture } from "./neighbourhood_picture.js";
import { reported, successors } from "./problems.js";
import { directionChoice, directionInWords } from "./restrictions.js";
import { rowOfLeftOut, saveButtons } from "./saving.js";
import { orderIn, orderInAddress } from "./sortable_table.js";
import { namedNeighbourhood, wholeNeighbourhood } from "./whole_neighbourhood.js";

const FARTHEST = 6;
const LARGE = 200; // concepts; more come as a table first
const LARGE_ON_A_PHONE = 30;

/** @type {import("./main.js").View} */
export async function neighbourhoodView(app, place, query, signal) {
  const read = (query) => ({
    cui: query.get("cui") ?? "",
    hops: whole(query.get("hops"), 1, 1, FARTHEST),
    direction: directionIn(query),
    open: query.get("open") ?? "",
    all: query.get("all") === "yes" ? "yes" : "",
    as: ["picture", "table"].includes(query.get("as") ?? "") ? query.get("as") : "",
    filter: query.get("filter") ?? "",
    sort: query.get("sort") ?? "",
    colour: COLOURINGS.some(([value]) => value === query.get("colour")) ? query.get("colour") : "",
  });
  const requested = read(query);
  document.title = "Neighbourhood – cuihop";
  const to = (changed) => {
    const next = { ...requested, ...changed };
    return address("neighbourhood", { ...next, hops: next.hops === 1 ? "" : next.hops, direction: next.direction === "any" ? "" : next.direction });
  };
  const fresh = { open: "", as: "", filter: "" }; // another neighbourhood has other families, and another size
  const centre = conceptChips(app, { label: "Around", cuis: [requested.cui].filter(Boolean), most: 1, signal,
    onchange: ([cui = ""]) => go(to({ cui, ...fresh })) });
  const hops = el("select", { id: "hops-choice", onchange: () => go(to({ hops: Number(hops.value), ...fresh })) },
    Array.from({ length: FARTHEST }, (_, i) => el("option", { value: i + 1, selected: i + 1 === requested.hops }, counted(i + 1, "hop"))));
  const answer = el("div", { id: "answer" });
  fill(
    place,
    el("h1", {}, "Neighbourhood"),
    el("div", { class: "card form" },
      centre.root,
      el("div", { class: "row" },
        el("label", {}, "Within ", hops),
        directionChoice(requested.direction, (direction) => go(to({ direction, ...fresh }))))),
    answer,
  );
  if (!requested.cui) {
    centre.input.focus();
    return;
  }
  fill(answer, el("p", { class: "waiting" }, "Loading …"));
  await reported(answer, signal, async () => {
    const { cui, total } = await app.service.get("v1/neighbourhood",
      { cui: requested.cui, hops: requested.hops, direction: requested.direction, limit: 0 }, signal);
    const name = (await app.names([cui], signal)).get(cui) ?? null;
    document.title = `Around ${name ?? cui} – cuihop`;
    await show(app, answer, { requested, read, to, around: { ...requested, cui }, name: name ?? cui, total }, signal);
  });
}

/** Shows a neighbourhood of which the size is known. */
async function show(app, place, view, signal) {
  const { requested, read, around, total, to } = view;
  const most = matchMedia("(max-width: 40rem)").matches ? LARGE_ON_A_PHONE : LARGE;
  const as = requested.as || (total > most ? "table" : "picture");
  const summary = el("p", { class: "figure", id: "total" });
  const summarise = (more) => fill(summary, `${counted(total, "concept")} within ${counted(requested.hops, "hop")}`, " ",
    el("small", {}, [directionInWords(requested.direction), more].filter(Boolean).join("; ")));
  summarise("");
  const cypher = el("div", {});
  const order = orderIn(requested.sort);
  const tableState = { filter: requested.filter, order, onchange: (filter) => {
    Object.assign(requested, { filter, sort: orderInAddress(order) });
    note(to({}));
  } };
  const rendered = as === "table"
    ? { root: conceptTable(app, { ...around, centre: around.cui, ...await namedNeighbourhood(app, around, signal) }, tableState, signal) }
    : await neighbourhoodPicture(app, { ...view, ondraw: (note, cuis) => {
      summarise(note);
      fill(cypher, cypherPanel(neighbourhoodCypher(around.cui, requested.hops, requested.direction, cuis)));
    } }, signal);
  if (as === "table") fill(cypher, cypherPanel(neighbourhoodCypher(around.cui, requested.hops, requested.direction, null)));
  fill(
    place,
    around.cui !== requested.cui && successors({ [requested.cui]: around.cui }),
    summary,
    total > 0 && el("div", { class: "row form-row" },
      radioChoice("as", "Show as", [["picture", "picture"], ["table", "table"]], as, (chosen) => go(to({ as: chosen }))),
      rendered.controls),
    as === "table" && !requested.as && el("p", { class: "hint" }, `More than ${most} concepts come as a table first.`),
    rendered.root,
    savings(app, view, rendered, signal),
    cypher,
  );
  rendered.draw?.();
  if (as === "picture") {
    app.stay = (name, query) => {
      const next = read(query);
      const same = name === "neighbourhood" && ["cui", "hops", "direction", "as"].every((field) => next[field] === requested[field]);
      if (same) rendered.follow(next);
      return same;
    };
  }
  announce(summary.textContent ?? "");
}

/** All of the neighbourhood as files, not only what is drawn; where the service gives a part only, the file says so. */
function savings(app, { requested, around, name, total }, rendered, signal) {
  /** @type {Awaited<ReturnType<typeof wholeNeighbourhood>> | null} */
  let fetched = null;
  const all = async () => (fetched ??= await wholeNeighbourhood(app, around, signal));
  const left = () => (fetched ? fetched.total - (fetched.concepts.length - 1) : 0);
  const written = (edges) => edges.map(({ from, to: parent }) => ({ child: from, parent }));
  const columns = ["cui", "name", "hops", "parents", "children", "vocabularies", "semantic_types"];
  return saveButtons(app, `around-${around.cui}-${requested.direction}-${requested.hops}`, `Neighbourhood of ${name}`, {
    picture: rendered.picture,
    caption: () => `${rendered.within()} of ${counted(total, "concept")} within ${counted(requested.hops, "hop")}, ${directionInWords(requested.direction)}`,
    json: async () => {
      const { concepts, edges } = await all();
      const drawn = rendered.drawn?.();
      return { centre: around.cui, hops: requested.hops, direction: requested.direction, total: fetched?.total, left_out: left(),
        concepts: concepts.map(({ cui, name: named, hops, parents, children, sabs, semantic_types: types }) =>
          ({ cui, name: named, hops, parents, children, sabs, semantic_types: types })),
        edges: edges && written(edges),
        edges_left_out: edges ? null : `more than ${app.release.limits.pack_concepts.toLocaleString("en")} concepts`,
        drawn: drawn ? { ...drawn, edges: written(drawn.edges) } : null };
    },
    csv: async () => [columns,
      ...(await all()).concepts.map(({ cui, name: named, hops, parents, children, sabs, semantic_types: types }) =>
        [cui, named ?? "", hops, parents, children, (sabs ?? []).join("; "), types.map((type) => type.name).join("; ")]),
      ...rowOfLeftOut(left(), columns.length)],
    part: () => (fetched && left() > 0 ? `nearest-${fetched.concepts.length - 1}-of-${fetched.total}` : ""),
  }, signal);
}
