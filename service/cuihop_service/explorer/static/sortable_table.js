// A table whose heads sort it. Columns that are empty are left out.

import { el, fill, announce, grouped } from "./dom.js";

const alphabet = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/**
 * @typedef {{head: string, cell: (row: any) => any, key?: (row: any) => string|number|null|undefined}} Column
 *   `key` is the value that rows are sorted by; without it the head does not sort. A column without any key is left out
 * @typedef {{head: string, down: boolean}} Order an empty head is the first order of the rows
 */

/** The order in an address: "concept", "-semantic-types". @returns {Order} */
export function orderIn(text) {
  return { head: (text ?? "").replace(/^-/, ""), down: (text ?? "").startsWith("-") };
}

/** @param {Order} order */
export function orderInAddress({ head, down }) {
  return head && `${down ? "-" : ""}${head}`;
}

const slug = (head) => head.toLowerCase().replaceAll(" ", "-");

/** Rows in an order; rows without a value come last, those of equal values stay as they are. @param {Column[]} columns @param {Order} order */
function sorted(rows, columns, order) {
  const key = columns.find(({ head }) => slug(head) === order.head)?.key;
  if (!key) return rows;
  const isNone = (value) => value === null || value === undefined || value === "";
  const keyed = rows.map((row) => ({ row, value: key(row) }));
  keyed.sort(({ value: one }, { value: other }) => {
    if (isNone(one) || isNone(other)) return Number(isNone(one)) - Number(isNone(other));
    const difference = typeof one === "number" ? one - other : alphabet.compare(one, other);
    return order.down ? -difference : difference;
  });
  return keyed.map(({ row }) => row);
}

/**
 * A table. If the screen is narrow each row is a card with the heads as labels, so that nothing is cut.
 * @param {string} label @param {Column[]} columns @param {any[]} rows in their order
 * @param {{order?: Order, onorder?: () => void, attributes?: (row: any) => Record<string, any>}} [options] `onorder` is called after
 *   a head has changed `order`, and shows the table again; a head is sorted upwards, then downwards, then no more
 * @param {Record<string, any>} [given] attributes of the table
 */
export function sortableTable(label, columns, rows, { order = orderIn(""), onorder = () => {}, attributes = () => ({}) } = {}, given = {}) {
  const filled = columns.filter(({ key }) => !key || rows.length === 0 || rows.some((row) => !["", null].includes(key(row) ?? null)));
  const name = slug(label);
  const heads = filled.map(({ head, key }) => {
    const now = order.head !== slug(head) ? "none" : order.down ? "descending" : "ascending";
    const button = key && el("button", { type: "button", class: "sort", id: `sort-${name}-${slug(head)}`, onclick: () => {
      const next = { none: [slug(head), false], ascending: [slug(head), true], descending: ["", false] }[now];
      [order.head, order.down] = next;
      onorder();
      document.getElementById(button.id)?.focus();
      announce(next[0] ? `Sorted by ${head}, ${next[1] ? "descending" : "ascending"}` : "In the first order");
    } }, head, el("span", { "aria-hidden": "true" }, { none: "", ascending: " ▲", descending: " ▼" }[now]));
    return el("th", { role: "columnheader", scope: "col", "aria-sort": button ? now : null }, button ?? head);
  });
  const line = (row) => el("tr", { role: "row", ...attributes(row) },
    filled.map(({ head, cell }) => el("td", { role: "cell", "data-label": head }, el("div", {}, cell(row)))));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
    el("table", { role: "table", ...given },
      el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, heads)),
      el("tbody", { role: "rowgroup" }, rows.map(line))));
}

/**
 * A table that sorts itself, `page` rows at a time with a button for more.
 * @param {string} label @param {Column[]} columns @param {() => any[]} rows of now, in their first order
 * @param {{order: Order, onorder?: () => void, attributes?: (row: any) => Record<string, any>, page?: number,
 *   onshow?: (rows: any[], visible: any[]) => void}} options `onorder` is called after a change of `order`, `onshow` with all rows and those on the page
 * @returns {{root: HTMLElement, show: (row?: any) => void}} `show` shows the rows again, up to one of them; the first page for null
 */
export function ownTable(label, columns, rows, { order, onorder = () => {}, attributes, page = Infinity, onshow = () => {} }, given = {}) {
  const [place, rest] = [el("div", {}), el("p", {})];
  const id = `more-${slug(label)}`;
  let most = page;
  const show = (row) => {
    const all = sorted(rows(), columns, order);
    if (row === null) most = page;
    else if (row) while (all.indexOf(row) >= most) most += page;
    const visible = all.slice(0, most);
    fill(place, sortableTable(label, columns, visible, { order, attributes, onorder: () => {
      show(null);
      onorder();
    } }, given));
    fill(rest, all.length > most && el("button", { type: "button", class: "quiet small", id, onclick: () => {
      most += page;
      show();
      document.getElementById(id)?.focus();
    } }, `${grouped(Math.min(page, all.length - most))} more of ${grouped(all.length - most)}`));
    onshow(all, visible);
  };
  show();
  return { root: el("div", {}, place, rest), show };
}
