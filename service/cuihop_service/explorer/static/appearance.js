// The button that changes the appearance, and the link past the head of a page.

const appearance = /** @type {HTMLButtonElement} */ (document.getElementById("theme"));
const systemIsDark = matchMedia("(prefers-color-scheme: dark)");

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : systemIsDark.matches;
}

function appearanceChanged() {
  appearance.textContent = isDark() ? "Light" : "Dark";
  appearance.setAttribute("aria-label", isDark() ? "Light appearance" : "Dark appearance");
  dispatchEvent(new Event("appearance"));
}

appearance.addEventListener("click", () => {
  const chosen = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = chosen;
  try {
    localStorage.setItem("cuihop-theme", chosen);
  } catch {
    // storage may be forbidden; the choice then holds for this page
  }
  appearanceChanged();
});
systemIsDark.addEventListener("change", appearanceChanged);

document.getElementById("skip")?.addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("main")?.focus();
});
appearanceChanged();
