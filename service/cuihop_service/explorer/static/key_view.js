// The service asks who asks.

import { el, fill } from "./dom.js";
import { key } from "./service.js";

/**
 * @param {HTMLElement} place
 * @param {import("./service.js").Problem|null} refused why the key before was not accepted
 * @param {() => Promise<void>} again
 */
export function keyView(place, refused, again) {
  const input = el("input", { id: "key", type: "password", autocomplete: "off", spellcheck: "false", required: true });
  const form = el(
    "form",
    { class: "card narrow" },
    el("h1", {}, "This service asks for a key"),
    el("p", {}, "Whoever runs the service gives one. It goes to this service only, and is kept until this tab is closed."),
    refused && el("p", { class: "problem", role: "alert", id: "refused" }, `The key was not accepted: ${refused.detail}.`),
    el("label", { for: "key" }, "API key or token"),
    input,
    el("p", {}, el("button", { type: "submit" }, "Open")),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const entered = input.value.trim();
    if (!entered) return;
    if (/[^\x21-\x7e]/.test(entered)) {
      input.setCustomValidity("A key has no spaces and no letters beyond ASCII.");
      input.reportValidity();
      return;
    }
    key.set(entered);
    again();
  });
  input.addEventListener("input", () => input.setCustomValidity(""));
  fill(place, form);
  input.focus();
}
