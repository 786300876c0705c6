// The families of which a picture draws a part: each a list in the order of names, with a filter.

import { el, fill, counted, grouped } from "./dom.js";
import { conceptAddress } from "./address.js";
import { matching } from "./names.js";
import { reported } from "./problems.js";
import { FAMILY } from "./surroundings.js";

const LISTED = 30; // names at once

export class Families {
  /**
   * @param {{members: (id: string) => Promise<{total: number, concepts: any[]}>, unfold: (id: string) => void,
   *   choose: (id: string, cui: string) => void}} actions
   * @param {AbortSignal} signal
   */
  constructor(actions, signal) {
    this.actions = actions;
    this.signal = signal;
    this.root = el("div", { class: "families" });
    /** The open ones, and the text of each one's filter. @type {Map<string, string>} */
    this.open = new Map();
    this.focus = ""; // the element that gets the focus once it is there
  }

  /** Shows the families. @param {ReturnType<import("./surroundings.js").Surroundings["folds"]>} folds @param {Map<string, any>} drawn */
  show(folds, drawn) {
    const focused = document.activeElement?.id ?? "";
    this.focus = focused.startsWith("family-") ? focused : "";
    fill(this.root, folds.length > 0 && el("h2", {}, "Not fully drawn"), folds.map((fold) => this.#family(fold, drawn)));
    if (this.focus) (document.getElementById(this.focus) ?? this.root.querySelector("summary"))?.focus();
  }

  /** Opens a family, and puts the focus into its filter. */
  look(id) {
    const details = document.getElementById(keyOf(id));
    if (!(details instanceof HTMLDetailsElement)) return;
    details.open = true;
    details.querySelector("summary")?.focus();
  }

  #family(fold, drawn) {
    const key = keyOf(fold.id);
    const place = el("div", {});
    const details = el("details", { id: key, open: this.open.has(fold.id) },
      el("summary", { id: `${key}-summary` }, `${fold.upwards ? "Parents" : "Children"} of ${fold.name}: `,
        `${grouped(fold.total - fold.left)} of ${grouped(fold.total)} drawn`), place);
    const list = () => reported(place, this.signal, async () => {
      if (!place.childElementCount) fill(place, el("p", { class: "waiting" }, "Loading …"));
      const family = await this.actions.members(fold.id);
      this.#members(place, fold, family, drawn);
    });
    details.addEventListener("toggle", () => {
      if (details.open === this.open.has(fold.id)) return;
      if (!details.open) return void this.open.delete(fold.id);
      this.open.set(fold.id, "");
      list();
    });
    if (details.open) list();
    return details;
  }

  #members(place, fold, { total, concepts }, drawn) {
    const key = keyOf(fold.id);
    const status = el("p", { class: "status", role: "status", id: `${key}-status` });
    const names = el("ul", { class: "related" });
    const filter = el("input", { id: `${key}-filter`, type: "search", autocomplete: "off", spellcheck: "false",
      "aria-describedby": `${key}-status`, value: this.open.get(fold.id) ?? "", oninput: () => show() });
    const show = () => {
      this.open.set(fold.id, filter.value);
      const found = matching(concepts, filter.value);
      const part = concepts.length < total ? `; the list has the first ${grouped(concepts.length)} of ${grouped(total)} by identifier` : "";
      status.textContent = (found.length > LISTED ? `The first ${LISTED} of ${counted(found.length, "concept")}; filter to narrow them down`
        : counted(found.length, "concept")) + part;
      fill(names, found.slice(0, LISTED).map(({ cui, name }) => el("li", {},
        drawn.has(cui) ? el("small", {}, "drawn") : el("button", { type: "button", class: "quiet small", id: `${key}-${cui}`,
          "aria-label": `Draw ${name ?? cui}`, onclick: () => this.actions.choose(fold.id, cui) }, "Draw"), " ",
        el("a", { href: conceptAddress(cui) }, name ?? cui), " ", el("code", {}, cui))));
    };
    fill(place,
      el("button", { type: "button", class: "quiet small", id: `${key}-unfold`, onclick: () => this.actions.unfold(fold.id) },
        `Draw the next ${Math.min(FAMILY, fold.left)} of ${grouped(fold.left)}`),
      el("div", { class: "field" }, el("label", { for: `${key}-filter` }, `Filter the ${fold.word} of ${fold.name}`), filter, status),
      names);
    show();
    if (!this.focus.startsWith(`${key}-`)) return;
    (document.getElementById(this.focus) ?? filter).focus();
    this.focus = "";
  }
}

/** The identifier of a family's element. */
function keyOf(id) {
  return `family-${id.replace(" ", "-")}`;
}
