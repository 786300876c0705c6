// Before anything is painted: the appearance that was chosen here before. Without a choice the system's counts.
try {
  const chosen = localStorage.getItem("cuihop-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // storage may be forbidden; then the system's appearance counts
}
