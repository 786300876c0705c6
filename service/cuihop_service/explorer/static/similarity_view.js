// How similar two concepts are by every measure, on the scale of random pairs of the release.

import { el, fill, announce, radioChoice } from "./dom.js";
import { address, go } from "./address.js";
import { conceptField } from "./concept_field.js";
import { reported } from "./problems.js";
import { saveButtons } from "./saving.js";
import { conceptsOfSimilarity, similarityPanel, similarityRows } from "./similarity_panel.js";
import { vocabulariesIn, vocabulariesInWords, vocabularyChoice } from "./vocabularies.js";

const CONTENTS = [["Sanchez", "Sánchez, by leaves"], ["Seco", "Seco, by descendants"]];

/** @type {import("./main.js").View} */
export async function similarityView(app, place, query, signal) {
  const requested = { a: query.get("a") ?? "", b: query.get("b") ?? "", ic: query.get("ic") === "Seco" ? "Seco" : "Sanchez",
    sabs: vocabulariesIn(query, app.release.sabs) };
  document.title = "Similarity – cuihop";
  const show = (changed) => {
    const next = { ...requested, ...changed };
    go(address("similarity", { ...next, ic: next.ic === "Sanchez" ? "" : next.ic, sabs: next.sabs.join(",") }));
  };
  const [one, other] = [["Of", "a"], ["And", "b"]].map(([label, side]) => conceptField(app, { label, onchoose: (cui) => show({ [side]: cui }) }));
  const answer = el("div", { id: "answer" });
  fill(
    place,
    el("h1", {}, "Similarity of two concepts"),
    el("div", { class: "card form" },
      el("div", { class: "columns" }, one.root, other.root),
      radioChoice("ic", "Information content", CONTENTS, requested.ic, (ic) => show({ ic })),
      vocabularyChoice(app.release.sabs, requested.sabs, (sabs) => show({ sabs }))),
    answer,
  );
  const given = [[one, requested.a], [other, requested.b]];
  for (const [field, cui] of given) if (cui) field.show(cui, null);
  if (!requested.a || !requested.b) {
    (requested.a ? other : one).input.focus();
    const names = await app.names([requested.a, requested.b].filter(Boolean), signal).catch(() => new Map());
    for (const [field, cui] of given) if (cui && field.cui === cui) field.show(cui, names.get(cui) ?? null);
    return;
  }
  fill(answer, el("p", { class: "waiting" }, "Loading …"));
  await reported(answer, signal, async () => {
    const { a, b, ic, sabs } = requested;
    const bounds = { ic, within_sabs: sabs };
    const [found, scale] = await Promise.all([app.service.get("v1/similarity", { a, b, ...bounds }, signal),
      app.service.get("v1/similarity-scale", bounds, signal)]);
    const names = await app.names(conceptsOfSimilarity(found), signal);
    const name = (cui) => names.get(cui) ?? cui;
    const ends = [found.a.cui, found.b.cui];
    given.forEach(([field, cui], i) => field.input.value === cui && field.show(cui, names.get(ends[i]) ?? null));
    const title = `Similarity of ${name(ends[0])} and ${name(ends[1])}`;
    document.title = `${title} – cuihop`;
    fill(
      answer,
      Object.entries(found.merged).map(([old, now]) => el("p", { class: "notice" }, `${old} is retired; ${now} is its successor.`)),
      sabs.length > 0 && el("p", { class: "hint" }, `Over the hierarchy ${vocabulariesInWords(sabs)}`),
      similarityPanel(found, names, scale),
      el("p", { class: "row" }, el("a", { href: address("path", { a: ends[0], b: ends[1], sabs: sabs.join(",") }) }, "Path between the two")),
      saveButtons(app, `similarity-${ends[0]}-${ends[1]}`, title, {
        json: () => ({ ...found, within_sabs: sabs, scale: { pairs: scale.pairs, percentiles: scale.percentiles } }),
        csv: () => [["measure", "value"], ["hops", found.hops], ...similarityRows(found)],
      }, signal),
    );
    announce(`${title}: Lin ${found.values.Lin?.toFixed(4) ?? "none"}`);
  });
}
