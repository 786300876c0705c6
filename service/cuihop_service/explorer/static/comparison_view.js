// Two concept sets side by side, as identifiers or rows of a concept file.

import { el, fill, counted } from "./dom.js";
import { address, note } from "./address.js";
import { vocabularyChoice } from "./vocabularies.js";
import { Comparison, afterPause, ruleControls, ruleIn, ruleInAddress } from "./comparison.js";

/** @type {import("./main.js").View} */
export async function comparisonView(app, place, query, signal) {
  const requested = {
    a: inAddress(query.get("a"), app.release.identifiers),
    b: inAddress(query.get("b"), app.release.identifiers),
    ...ruleIn(query),
    unknown: query.get("unknown") === "isolated" ? "isolated" : "error",
  };
  document.title = "Compare two sets – cuihop";
  const comparison = new Comparison(app, signal);
  /** Asks again, a moment after the last change; the address follows without a step for each. */
  const changed = afterPause(() => {
    note(address("comparison", { a: requested.a.join(" "), b: requested.b.join(" "), ...ruleInAddress(requested),
      unknown: requested.unknown === "error" ? "" : requested.unknown }));
    ask();
  }, signal);
  const areas = ["a", "b"].map((side) => setField(app, side, requested[side], (cuis) => {
    requested[side] = cuis;
    changed();
  }));

  fill(
    place,
    el("h1", {}, "Compare two concept sets"),
    el("div", { class: "card form" },
      el("div", { class: "columns" }, areas),
      ruleControls(requested, changed,
        el("label", { class: "inline" }, el("input", { type: "checkbox", id: "isolated", checked: requested.unknown === "isolated",
          onchange: (event) => {
            requested.unknown = event.target.checked ? "isolated" : "error";
            changed();
          } }), " Count unknown concepts; they match only themselves")),
      vocabularyChoice(app.release.sabs, requested.within_sabs, (sabs) => {
        requested.within_sabs = sabs;
        changed();
      })),
    comparison.root,
  );

  async function ask() {
    if (requested.a.length || requested.b.length) return comparison.compare(requested);
    comparison.clear(el("p", { class: "hint" }, "Paste the concepts of two images: rows of a concept file, or identifiers."));
  }
  if (!requested.a.length && !requested.b.length) areas[0].querySelector("textarea")?.focus();
  await ask();
}

/** Identifiers of an address, which have blanks between them: those that are not CUIs can hold commas and quotes. */
function inAddress(text, identifiers) {
  return identifiers === "cui" ? listed(text ?? "", identifiers).cuis : [...new Set((text ?? "").split(/[\s;|]+/).filter(Boolean))];
}

/** Identifiers in a text, each once, and what was left out: in rows of a concept file, the name of the image. */
export function listed(text, identifiers) {
  const words = text.split(/[\s,;|"']+/).filter(Boolean);
  if (identifiers !== "cui") return { cuis: [...new Set(words)], left: [] };
  const cuis = words.filter((word) => /^C\d{7}$/i.test(word)).map((word) => word.toUpperCase());
  return { cuis: [...new Set(cuis)], left: words.filter((word) => !/^C\d{7}$/i.test(word)) };
}

function setField(app, side, cuis, onchange) {
  const status = el("p", { class: "status", role: "status", id: `${side}-status` });
  const area = el("textarea", { id: `set-${side}`, rows: 3, spellcheck: "false", "aria-describedby": `${side}-status`,
    placeholder: app.release.identifiers === "cui" ? "C0006121; C0018670" : "identifiers with ; between them", value: cuis.join("; ") });
  const report = ({ cuis: found, left }) => {
    status.textContent = found.length || left.length
      ? counted(found.length, "concept") + (left.length ? `; left out: ${left.slice(0, 3).join(" ")}${left.length > 3 ? " …" : ""}` : "")
      : "";
  };
  area.addEventListener("input", () => {
    const found = listed(area.value, app.release.identifiers);
    report(found);
    onchange(found.cuis);
  });
  report({ cuis, left: [] });
  return el("div", { class: "field" }, el("label", { for: `set-${side}` }, `Concepts of image ${side.toUpperCase()}`), area, status);
}
