// Two concept sets side by side, as names, identifiers or rows of a concept file.

import { el, fill } from "./dom.js";
import { address, note } from "./address.js";
import { Comparison, afterPause, foldOnce, ruleControls, ruleIn, ruleInAddress } from "./comparison.js";
import { conceptChips } from "./concept_chips.js";
import { vocabularyChoice } from "./restrictions.js";
import { orderIn, orderInAddress } from "./sortable_table.js";

/** @type {import("./main.js").View} */
export async function comparisonView(app, place, query, signal) {
  const requested = {
    a: inAddress(query.get("a"), app.release.identifiers),
    b: inAddress(query.get("b"), app.release.identifiers),
    ...ruleIn(query, app.release.sabs),
    unknown: query.get("unknown") === "isolated" ? "isolated" : "error",
  };
  document.title = "Compare two sets – cuihop";
  const order = orderIn(query.get("sort"));
  const keepAddress = () => note(address("comparison", { a: requested.a.join(" "), b: requested.b.join(" "), ...ruleInAddress(requested),
    unknown: requested.unknown === "error" ? "" : requested.unknown, sort: orderInAddress(order) }));
  /** Asks again, a moment after the last change; the address follows without a step for each. */
  const changed = afterPause(() => {
    keepAddress();
    ask();
  }, signal);
  const fields = ["a", "b"].map((side) => conceptChips(app, { label: `Concepts of image ${side.toUpperCase()}`, cuis: requested[side],
    onchange: (cuis) => {
      requested[side] = cuis;
      changed();
    }, signal }));

  const form = el("details", { class: "card form", open: true }, el("summary", {}, "Concepts, n and λ"),
    el("div", { class: "columns" }, fields.map((field) => field.root)),
    ruleControls(requested, changed,
      el("label", { class: "inline" }, el("input", { type: "checkbox", id: "isolated", checked: requested.unknown === "isolated",
        onchange: (event) => {
          requested.unknown = event.target.checked ? "isolated" : "error";
          changed();
        } }), " Count unknown concepts; they match only themselves")),
    vocabularyChoice(app.release.sabs, requested.within_sabs, (sabs) => {
      requested.within_sabs = sabs;
      changed();
    }));
  const comparison = new Comparison(app, signal, { order, onorder: keepAddress, oncompared: foldOnce(form) });
  fill(place, el("h1", {}, "Compare two concept sets"), form, comparison.root);

  async function ask() {
    if (requested.a.length || requested.b.length) return comparison.compare(requested);
    comparison.clear(el("p", { class: "hint" }, app.release.names ? "Give the concepts of two images: names, identifiers, or rows of a concept file, one by one or as a pasted list."
      : "Give the concepts of two images: identifiers, or rows of a concept file."));
  }
  if (!requested.a.length || !requested.b.length) fields[requested.a.length ? 1 : 0].input.focus();
  await ask();
}

/** Identifiers of an address, which have blanks between them: those that are not CUIs can hold commas and quotes. */
function inAddress(text, identifiers) {
  const words = [...new Set((text ?? "").split(identifiers === "cui" ? /[\s,;|"']+/ : /[\s;|]+/).filter(Boolean))];
  return identifiers === "cui" ? words.filter((word) => /^C\d{7}$/i.test(word)).map((word) => word.toUpperCase()) : words;
}
