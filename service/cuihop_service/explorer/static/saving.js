// What is shown as files.

import { el, announce, copyButton } from "./dom.js";
import { reported } from "./problems.js";

const SHORT = 12; // digits of a digest that people compare

/**
 * Buttons for the forms that a view offers. Name and digest of the release stand in the name of every file, and in JSON
 * as fields beside the title; a picture has all three in it.
 * @param {import("./main.js").App} app
 * @param {string} name of the files, without release and ending
 * @param {string} title
 * @param {{picture?: import("./picture.js").Picture, caption?: () => string, csv?: () => any, json?: () => any,
 *   part?: () => string}} forms `caption` says what the picture shows, beside its title; `csv` gives rows, `json` fields,
 *   each at once or later; `part` says, once they are there, which part of all they hold, if not all
 * @param {AbortSignal} signal of the view
 */
export function saveButtons(app, name, title, { picture, caption = () => "", csv, json, part = () => "" }, signal) {
  const { release } = app;
  const trouble = el("div", {});
  const text = (made, type) => new Blob([made], { type });
  let busy = false;
  const pressed = async (ending, made) => {
    if (busy) return; // a large neighbourhood takes a while
    busy = true;
    try {
      announce("Loading …");
      const blob = await made();
      const held = ending === "csv" || ending === "json" ? part() : "";
      const file = [name, held, release.name, release.digest.slice(0, SHORT)].filter(Boolean).join("-");
      announce(`Saved as ${save(blob, `${file}.${ending}`)}`);
      trouble.replaceChildren();
    } finally {
      busy = false;
    }
  };
  const heading = () => ({ title, note: [caption(), `release ${release.name}, ${release.digest.slice(0, SHORT)}`,
    `cuihop ${release.service_version}`].filter(Boolean).join("; ") });
  const button = (label, ending, made) => el("button", { type: "button", class: "quiet small",
    onclick: () => reported(trouble, signal, () => pressed(ending, made)) }, label);
  const fields = async () => ({ title, release_name: release.name, release: release.digest, ...(await json?.()) });
  return el(
    "div",
    {},
    el(
      "p",
      { class: "row saving", role: "group", "aria-label": "Save" },
      el("span", {}, "Save as"),
      picture && button("PNG", "png", () => picture.png(heading())),
      picture && button("SVG", "svg", () => text(picture.svg(heading()), "image/svg+xml")),
      csv && button("CSV", "csv", async () => text(csvOf(await csv()), "text/csv")),
      json && button("JSON", "json", async () => text(JSON.stringify(await fields(), null, 2) + "\n", "application/json")),
      copyButton("Copy link", () => location.href),
    ),
    trouble,
  );
}

/** The last row of a table that does not hold everything; no row where it does. */
export function rowOfLeftOut(left, columns) {
  if (left <= 0) return [];
  return [["", `(${left.toLocaleString("en")} more concepts are left out: the service gives no more at once)`, ...Array(columns - 2).fill("")]];
}

/** Rows as CSV (RFC 4180). A text that a spreadsheet would take for a formula gets an apostrophe before it. */
export function csvOf(rows) {
  const cell = (value) => {
    let text = value === null || value === undefined ? "" : String(value);
    if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => row.map(cell).join(",") + "\r\n").join("");
}

function save(blob, name) {
  const file = name.replace(/[^A-Za-z0-9._-]+/g, "-");
  const link = el("a", { href: URL.createObjectURL(blob), download: file });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  return file;
}
