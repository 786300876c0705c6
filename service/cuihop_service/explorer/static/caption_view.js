// Two captions: the concepts that they mention, marked in the text, and their nn-IoU.

import { el, fill, announce, counted, grouped } from "./dom.js";
import { address, note } from "./address.js";
import { Comparison, afterPause, ruleControls, ruleIn, ruleInAddress } from "./comparison.js";
import { COUNTS_AS, mentionTable } from "./mention_table.js";
import { CONTEXTS, Mention, markedText } from "./mentions.js";
import { NO_NAMES } from "./names.js";
import { reported } from "./problems.js";
import { orderIn, orderInAddress } from "./sortable_table.js";

const SIDES = ["a", "b"];
const ALL = Object.keys(CONTEXTS); // left out unless the address says otherwise
const MEANS = { matched: "in both captions", near: "within n hops of the other caption", alone: "not near the other caption", out: "does not count" };

/** Semantic groups of UMLS, and the set of MEDCON. */
export const GROUPS = {
  ACTI: "Activities & Behaviors", ANAT: "Anatomy", CHEM: "Chemicals & Drugs", CONC: "Concepts & Ideas", DEVI: "Devices",
  DISO: "Disorders", GENE: "Genes & Molecular Sequences", GEOG: "Geographic Areas", LIVB: "Living Beings", OBJC: "Objects",
  OCCU: "Occupations", ORGA: "Organizations", PHEN: "Phenomena", PHYS: "Physiology", PROC: "Procedures", MEDCON: "those of MEDCON",
};

const EXAMPLES = {
  "Chest radiograph": [
    "Chest radiograph: pneumonia of the right lung with pleural effusion. No pneumothorax.",
    "Chest X-ray: bronchopneumonia and pneumothorax. Possible pleural effusion. Her mother had breast cancer.",
  ],
  "Magnetic resonance imaging": [
    "MRI of the brain: multiple sclerosis (MS) with lesions of the brain stem and the cerebellum. No evidence of MS in the spinal cord.",
    "Magnetic resonance imaging of the head: demyelinating disease of the cerebellum. A glioma of the brain stem is unlikely.",
  ],
  Ultrasound: [
    "Ultrasound of the abdomen: liver cirrhosis with ascites, and gallstones without cholecystitis.",
    "Sonography shows fibrosis of the liver, ascites and acute cholecystitis. Hepatocellular carcinoma is possible.",
  ],
};

/** The captions of the page. They stay in its memory only. */
export class Captions {
  constructor() {
    this.texts = { a: "", b: "" };
    this.decisions = { a: new Map(), b: new Map() };
    this.requested = false;
  }

  /** Sets a text; decisions about the one before are gone. */
  set(side, text) {
    this.texts[side] = text;
    this.decisions[side].clear();
  }

  /** The decision of the user about a mention; an empty one if there is none yet. */
  decision(side, { start, end }) {
    const place = `${start} ${end}`;
    if (!this.decisions[side].has(place)) this.decisions[side].set(place, {});
    return this.decisions[side].get(place);
  }
}

/** @type {import("./main.js").View} */
export async function captionView(app, place, query, signal) {
  document.title = "Compare two captions – cuihop";
  const captions = (app.captions ??= new Captions());
  const rule = ruleIn(query, app.release.sabs);
  const options = {
    leaveOut: chosenOf(query.get("leave_out") ?? ALL.join(","), ALL),
    groups: chosenOf(query.get("groups"), Object.keys(GROUPS)),
    spelling: query.get("spelling") === "yes",
    every: query.get("every") === "yes",
  };
  /** @type {Record<string, Mention[]>} */
  let mentions = { a: [], b: [] };
  /** @type {ReturnType<typeof mentionTable>[]} */
  let tables = [];
  let asking = new AbortController();
  let turns = 0; // comparisons asked for: only the values of the last one are shown
  signal.addEventListener("abort", () => asking.abort());

  const isIncluded = (mention) => mention.included(options.leaveOut);
  const [order, mentionOrder] = [orderIn(query.get("sort")), orderIn(query.get("mentions"))];
  const [trouble, marked, contexts] = [el("div", {}), el("div", { id: "marked" }), el("p", { id: "contexts", class: "notice", hidden: true })];
  const leaveOut = () => (options.leaveOut.length === ALL.length ? "" : options.leaveOut.join(",") || "none");
  const keepAddress = () => note(address("captions", { ...ruleInAddress(rule), leave_out: leaveOut(), sort: orderInAddress(order),
    mentions: orderInAddress(mentionOrder), groups: options.groups.join(","), spelling: options.spelling ? "yes" : "", every: options.every ? "yes" : "" }));
  const comparison = new Comparison(app, signal, { order, onorder: keepAddress, oncompared: (rows) => {
    const kinds = new Map(rows.flatMap((row) => row.side.split(", ").map((side) => [`${side.toLowerCase()} ${row.cui}`, row.kind])));
    update((side, mention) => kinds.get(`${side} ${mention.term.cui}`) ?? "");
  } });
  /** Keeps a setting in the address; the texts are sent only after the button was pressed. */
  const settingChanged = (work) => afterPause(() => {
    keepAddress();
    if (captions.requested) work();
  }, signal);
  const [compareLater, annotateLater] = [settingChanged(compare), settingChanged(annotate)];

  const areas = Object.fromEntries(SIDES.map((side) => [side, captionField(side, captions)]));
  const form = el("form", { class: "card form" },
    el("div", { class: "columns" }, SIDES.map((side) => areas[side].root)),
    el("div", { class: "row" }, el("button", { type: "submit" }, "Find concepts"),
      el("button", { type: "button", class: "quiet", onclick: clear }, "Clear"),
      el("span", {}, "Examples:"), Object.entries(EXAMPLES).map(([name, texts]) =>
        el("button", { type: "button", class: "quiet small", onclick: () => showExample(texts) }, name))),
    el("p", { class: "hint", id: "privacy" }, "The texts go to this service in the body of a request, and into no address, history, "
      + "storage or file. They are gone when you press Clear, load the page again or close it. A link to this page holds the settings without the texts."),
    optionControls(options, compareLater, annotateLater),
    ruleControls(rule, compareLater));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    keepAddress();
    annotate();
  });
  fill(place, el("h1", {}, "Compare two captions"), form, trouble, marked, contexts, comparison.root);

  function showExample(texts) {
    SIDES.forEach((side, i) => areas[side].set(texts[i]));
    keepAddress();
    annotate();
  }

  function clear() {
    for (const side of SIDES) areas[side].set("");
    empty();
    areas.a.input.focus();
  }

  function empty() {
    asking.abort();
    captions.requested = false;
    [mentions, tables] = [{ a: [], b: [] }, []];
    fill(trouble);
    fill(marked);
    contexts.hidden = true;
    marked.removeAttribute("aria-busy");
    comparison.clear(el("p", { class: "hint" }, app.release.names ? "Paste two captions, or begin with an example."
      : `${NO_NAMES}. Concepts are found by their names.`));
  }

  async function annotate() {
    const texts = SIDES.map((side) => captions.texts[side].toWellFormed());
    if (!texts.some((text) => text.trim())) return empty();
    const tooLong = SIDES.map((side, i) => areas[side].tooLong(texts[i], app.release.limits.text_characters));
    if (tooLong.includes(true)) return;
    asking.abort();
    asking = new AbortController();
    const stop = AbortSignal.any([signal, asking.signal]);
    captions.requested = true;
    marked.setAttribute("aria-busy", "true");
    await reported(trouble, stop, async () => {
      const { annotations } = await app.service.post("v1/annotate", { texts, options: {
        candidates: true, longest: !options.every, correct_spelling: options.spelling, semantic_types: options.groups } }, stop);
      fill(trouble);
      SIDES.forEach((side, i) => {
        mentions[side] = annotations[i].mentions.map((found) => new Mention(found, captions.decision(side, found)));
      });
      showMentions(texts);
      await compare();
    });
    if (!stop.aborted) marked.removeAttribute("aria-busy");
  }

  function showMentions(texts) {
    const sorting = { signal, order: mentionOrder, onorder: () => {
      keepAddress();
      for (const one of tables) one.update();
    } };
    tables = SIDES.map((side) => mentionTable(app, side, mentions[side], { isIncluded, onchange: compareLater, ...sorting }));
    const wasOpen = document.getElementById("mentions")?.hasAttribute("open");
    const all = el("details", { id: "mentions", open: wasOpen },
      el("summary", {}, `Mentions: ${grouped(mentions.a.length)} in A, ${grouped(mentions.b.length)} in B. Names, rules and contexts; leave one out, or choose another concept`),
      SIDES.map((side, i) => el("div", {}, el("h2", {}, `Mentions in ${side.toUpperCase()}`),
        mentions[side].length ? tables[i].root : el("p", { class: "hint" }, "None"))));
    const columns = SIDES.map((side, i) => el("section", {}, el("h2", {}, `Caption ${side.toUpperCase()}`),
      el("div", { class: "text", id: `text-${side}`, tabindex: "0", role: "region", "aria-label": `Caption ${side.toUpperCase()} with its mentions` },
        markedText(texts[i], mentions[side]))));
    SIDES.forEach((side, i) => mentions[side].forEach((mention) => mention.marks.forEach((mark) => mark.addEventListener("click", (event) => {
      event.stopPropagation(); // a mark within a mark
      all.open = true;
      tables[i].reveal(mention);
    }))));
    fill(marked, el("div", { class: "columns" }, columns), el("ul", { class: "legend", "aria-label": "Legend of the captions" },
      Object.entries(MEANS).map(([kind, text]) => el("li", {}, el("mark", { class: kind }, COUNTS_AS[kind]), ` ${text}`)),
      el("li", {}, el("mark", { "data-context": "negated" }, "word"), " the text says that it is absent, only possible (uncertain), or about a relative (family)")), all);
  }

  /** Shows what each mention counts as. @param {(side: string, mention: Mention) => string} kindOf those that are included */
  function update(kindOf) {
    for (const side of SIDES) {
      for (const mention of mentions[side]) {
        mention.kind = isIncluded(mention) ? kindOf(side, mention) : "out";
        const { term } = mention;
        for (const mark of mention.marks) {
          mark.className = mention.kind;
          mark.title = [`${term.name ?? term.cui} (${term.cui}): ${COUNTS_AS[mention.kind]}`, ...mention.found.context].join(", ");
        }
      }
    }
    for (const one of tables) one.update();
  }

  /** The concepts of both captions, of the mentions that count. @param {(mention: Mention) => boolean} counts */
  function setsOf(counts) {
    const cuis = (side) => [...new Set(mentions[side].filter(counts).map((mention) => mention.term.cui))];
    return { a: cuis("a"), b: cuis("b") };
  }

  async function compare() {
    SIDES.forEach((side) => areas[side].report(mentions[side], isIncluded));
    const sets = setsOf(isIncluded);
    const both = withAndWithout();
    if (sets.a.length || sets.b.length) await comparison.compare({ ...sets, ...rule, unknown: "isolated" });
    else {
      update(() => "");
      comparison.clear(el("p", { class: "notice", role: "status" }, "No concept counts in either caption."));
      announce("No concept counts in either caption");
    }
    await both;
  }

  /** Says how much the mentions that are negated, uncertain or about the family change the values. */
  async function withAndWithout() {
    const turn = (turns += 1);
    const named = contextCounts([...mentions.a, ...mentions.b]).join(", ");
    contexts.hidden = !named;
    if (!named) return;
    const values = await Promise.all([ALL, []].map(async (left) => {
      const sets = setsOf((mention) => mention.included(left));
      if (!sets.a.length && !sets.b.length) return ["no value, as no concept counts"];
      const answer = await app.service.post("v1/relevance", { ...sets, ...rule, unknown: "isolated" }, signal);
      return [el("b", { "data-value": answer.nn_iou }, answer.nn_iou.toFixed(4)), ` (IoU ${answer.iou.toFixed(4)})`];
    })).catch(() => null); // the comparison says what is wrong
    if (turn !== turns) return;
    if (!values) contexts.hidden = true;
    else fill(contexts, `${named}: nn-IoU without them `, values[0], ", with them ", values[1], ".");
  }

  if (captions.requested) return annotate();
  empty();
  areas.a.input.focus();
}

/** The parts of a text that are among some values. */
function chosenOf(text, values) {
  const parts = (text ?? "").split(",");
  return values.filter((value) => parts.includes(value));
}

/** "2 negated", "1 family". */
function contextCounts(mentions) {
  return ALL.map((context) => [mentions.filter(({ found }) => found.context.includes(context)).length, context])
    .filter(([count]) => count).map(([count, context]) => `${count} ${context}`);
}

/** A field for a caption. */
function captionField(side, captions) {
  const id = `caption-${side}`;
  const status = el("p", { class: "status", role: "status", id: `${id}-status` });
  const input = el("textarea", { id, class: "prose", rows: 5, dir: "auto", autocomplete: "off", autocapitalize: "off", spellcheck: "false",
    "aria-describedby": `${id}-status privacy`, value: captions.texts[side] });
  const changed = () => {
    captions.set(side, input.value);
    status.textContent = "";
  };
  input.addEventListener("input", () => {
    changed();
    if (captions.requested) status.textContent = "Changed; press “Find concepts”";
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) input.form.requestSubmit();
  });
  return {
    root: el("div", { class: "field" }, el("label", { for: id }, `Caption ${side.toUpperCase()}`), input, status),
    input,
    tooLong: (text, most) => {
      const length = [...text].length;
      if (length > most) status.textContent = `Too long: ${grouped(length)} characters; this service takes ${grouped(most)}. Shorten it`;
      return length > most;
    },
    set: (text) => {
      input.value = text;
      changed();
    },
    report: (found, isIncluded) => {
      const out = found.filter((mention) => !isIncluded(mention));
      const concepts = new Set(found.map((mention) => mention.term.cui)).size;
      status.textContent = found.length
        ? [`${counted(found.length, "mention")} of ${counted(concepts, "concept")}`, ...contextCounts(found)].join(", ") + (out.length ? `; ${out.length} left out` : "")
        : "No concept is mentioned by a name of this release";
    },
  };
}

/** The settings of an annotation, which they change. What is left out is decided in the page, so that it stays visible. */
function optionControls(options, oncompare, onannotate) {
  const box = (id, checked, onchange, ...label) => el("label", { class: "inline" },
    el("input", { type: "checkbox", id, checked, onchange: (event) => onchange(event.target.checked) }), " ", label);
  const among = (field, value, changed, label) => box(`${field}-${value}`, options[field].includes(value), (on) => {
    options[field] = on ? [...options[field], value] : options[field].filter((other) => other !== value);
    changed();
  }, label);
  const flag = (field, label) => box(field, options[field], (on) => {
    options[field] = on;
    onannotate();
  }, label);
  const summary = el("summary", {});
  const summarise = () => (summary.textContent = `Semantic groups: ${options.groups.map((code) => GROUPS[code]).join(", ") || "all"}`);
  summarise();
  return [
    el("div", { class: "row" },
      el("fieldset", { class: "choice" }, el("legend", { title: "cuihop annotate keeps them unless --leave-out names them" }, "Leave out mentions that are"),
        Object.entries(CONTEXTS).map(([context, meaning]) => el("span", { title: meaning }, among("leaveOut", context, oncompare, context)))),
      flag("spelling", "Correct spelling"), flag("every", "Every match, overlapping ones too")),
    el("details", {}, summary, el("fieldset", { class: "choice" }, el("legend", { class: "unseen" }, "Semantic groups"),
      Object.entries(GROUPS).map(([code, name]) => among("groups", code, () => {
        summarise();
        onannotate();
      }, name)))),
  ];
}
