// What is shown stands in the address, after the #: a link shows the same, and the browser's buttons lead back and on.

/** @typedef {{view: string, query: URLSearchParams}} Place */

/** @returns {Place} */
export function here() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { view: path || "concept", query: new URLSearchParams(query) };
}

/** @param {string} view @param {Record<string, any>} query empty values are left out */
export function address(view, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== false);
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return `#/${view}${text ? `?${text}` : ""}`;
}

/** @param {string} cui */
export function conceptAddress(cui) {
  return address("concept", { cui });
}

/** Goes there at once, so that no letter is typed into a view that is about to end; `replace` leaves no step behind, as
 * for a slider on its way. */
export function go(to, replace = false) {
  if (to === location.hash) return;
  history[replace ? "replaceState" : "pushState"](null, "", to);
  dispatchEvent(new HashChangeEvent("hashchange"));
}

/** Changes the address without showing anything again. */
export function note(to) {
  history.replaceState(null, "", to);
}

/** One of the directions; anything else is taken for the first. */
export function direction(query) {
  const given = query.get("direction");
  return given === "up" || given === "down" || given === "vertical" ? given : "any";
}

/** A whole number within bounds. */
export function whole(text, fallback, least, most) {
  return text !== null && /^\d+$/.test(text) ? Math.min(most, Math.max(least, Number(text))) : fallback;
}
