// What is shown as files.

import { el, announce, copyButton } from "./dom.js";

/**
 * Buttons for the forms that a view offers.
 * @param {string} name of the files, without ending
 * @param {{picture?: import("./picture.js").Picture, csv?: () => any[][], json?: () => any}} forms
 */
export function saveButtons(name, { picture, csv, json }) {
  const button = (label, ending, made) =>
    el("button", {
      type: "button", class: "quiet small",
      onclick: async () => {
        save(await made(), `${name}.${ending}`);
        announce(`Saved as ${name}.${ending}`);
      },
    }, label);
  return el(
    "p",
    { class: "row saving", role: "group", "aria-label": "Save" },
    el("span", {}, "Save as"),
    picture && button("PNG", "png", () => picture.png()),
    picture && button("SVG", "svg", () => new Blob([picture.svg()], { type: "image/svg+xml" })),
    csv && button("CSV", "csv", () => new Blob([csvOf(csv())], { type: "text/csv" })),
    json && button("JSON", "json", () => new Blob([JSON.stringify(json(), null, 2) + "\n"], { type: "application/json" })),
    copyButton("Copy link", () => location.href),
  );
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
  const link = el("a", { href: URL.createObjectURL(blob), download: name.replace(/[^A-Za-z0-9._-]+/g, "-") });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
