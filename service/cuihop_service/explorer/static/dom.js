// Elements from values. Text only ever becomes text: a name that looks like markup is shown as it is written.

/**
 * A new element.
 * @param {string} tag
 * @param {Record<string, any>} [given] attributes; `on…` are listeners, `class` the classes, null and false are left out
 * @param {...(Node|string|number|null|undefined|false|Array<any>)} children
 * @returns {any}
 */
export function el(tag, given = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  add(element, children);
  return element;
}

/** Adds children; nothing for null, undefined and false. */
export function add(parent, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) add(parent, child);
    else parent.append(child instanceof Node ? child : String(child));
  }
}

/** Replaces all children. The focus stays: the element that has the same id gets it. */
export function fill(parent, ...children) {
  const focused = parent.contains(document.activeElement) && document.activeElement?.id;
  parent.replaceChildren();
  add(parent, children);
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

/** Has screen readers say a text. */
export function announce(text) {
  const place = document.getElementById("announcer");
  if (place) place.textContent = text;
}

/** A number as people write it. */
export function grouped(number) {
  return number.toLocaleString("en");
}

/** "1 hop", "2 hops". */
export function counted(number, one, many = `${one}s`) {
  return `${grouped(number)} ${number === 1 ? one : many}`;
}

/** A choice among few: radio buttons. @param {[string, string][]} choices value and text of each */
export function radioChoice(name, legend, choices, chosen, onchoose) {
  return el(
    "fieldset",
    { class: "choice" },
    el("legend", {}, legend),
    choices.map(([value, text]) => el("label", {},
      el("input", { type: "radio", name, id: `${name}-${value}`, value, checked: value === chosen, onchange: () => onchoose(value) }), " ", text)),
  );
}

/** A button that copies a text, or what a function gives, and says so. */
export function copyButton(label, text, description = label) {
  const button = el("button", { type: "button", class: "quiet small", "aria-label": description }, label);
  button.addEventListener("click", async () => {
    const copied = await copy(typeof text === "function" ? text() : text);
    button.textContent = copied ? "Copied" : "Not copied";
    announce(copied ? `${description}: copied` : "The browser did not allow copying");
    setTimeout(() => (button.textContent = label), 1500);
  });
  return button;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Without TLS there is no clipboard interface beyond this machine; the older command still works there.
    const area = el("textarea", { class: "unseen", "aria-hidden": "true", value: text });
    document.body.append(area);
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    return copied;
  }
}
