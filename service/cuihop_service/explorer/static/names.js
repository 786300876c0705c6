// Names of concepts: their order, and those that hold the words of a text.

/** Why a caller sees identifiers only. */
export const NO_NAMES = "Names are not shown here: your key lacks the scope “names”, or this service shows none";

const alphabet = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** The order of names; concepts without one stand by their identifier. */
export function byName(one, other) {
  return alphabet.compare(one.name ?? one.cui, other.name ?? other.cui) || (one.cui < other.cui ? -1 : 1);
}

/** The concepts whose name holds every word of a text, or whose identifier begins with it. */
export function matching(concepts, text) {
  const wanted = text.trim().toLocaleLowerCase("en");
  const words = wanted.split(/\s+/);
  return concepts.filter(({ cui, name }) => {
    const own = (name ?? "").toLocaleLowerCase("en");
    return words.every((word) => own.includes(word)) || cui.toLocaleLowerCase("en").startsWith(wanted);
  });
}
