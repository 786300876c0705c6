// Lists of names and identifiers, as people paste them: which concepts they mean, and what is not understood.

const TOGETHER = 4; // searches at a time
const HITS = 5; // as many concepts of one name are offered
const NEAREST = 3;
const ABSENT = "not in this release";

/**
 * The meaning of a piece of a text: a concept, or none yet and the nearest ones.
 * @typedef {{cui: string, name: string|null, note: string, text: string, hits: {cui: string, name: string|null}[]}} Entry
 *   `cui` is empty if the text is not understood; `note` says why, or what is particular
 */

/** Names and states of identifiers, in their order. @returns {Promise<Entry[]>} */
export async function described(app, cuis, signal) {
  const entries = [];
  for (let first = 0; first < cuis.length; first += app.release.limits.concepts) {
    const chunk = cuis.slice(first, first + app.release.limits.concepts);
    const { resolutions } = await app.service.post("v1/resolutions", { cuis: chunk }, signal);
    const successors = resolutions.flatMap((one) => [one.cui, ...one.candidates.map(({ cui }) => cui)]).filter(Boolean);
    const names = successors.length ? await app.names(successors, signal).catch(() => new Map()) : new Map();
    chunk.forEach((cui, i) => {
      const { status, cui: current, candidates } = resolutions[i];
      const note = { current: "", merged: `retired; now ${current}`, retired: "retired", code: `code of ${current}`,
        several: "a code of several concepts" }[status] ?? ABSENT;
      entries.push({ cui, text: cui, note, name: names.get(current) ?? null,
        hits: candidates.map((one) => ({ cui: one.cui, name: names.get(one.cui) ?? null })) });
    });
  }
  return entries;
}

/**
 * The concepts that a text lists, with semicolons, commas or line ends between them. A comma may also be part of a name.
 * @param {import("./main.js").App} app @param {string} text @param {AbortSignal} signal
 * @returns {Promise<Entry[]>}
 */
export async function understood(app, text, signal) {
  const pieces = text.split(/[;|"\t\r\n]+/).map(trimmed).filter(Boolean);
  const byWord = await identifiers(app, pieces, signal);
  const meant = await inTurn(pieces, (piece) => meaning(app, piece, byWord, signal));
  return meant.flat();
}

/** Concepts that may be meant by a text that is no identifier of the release: by name, or by an identifier with a slip. */
export async function nearestConcepts(app, text) {
  const entries = app.release.identifiers === "cui" && /^C\d{6,8}$/i.test(text) ? await described(app, slips(text.toUpperCase())) : [];
  const held = entries.filter(({ note }) => !note).slice(0, HITS);
  if (held.length || !app.release.names) return held;
  return (await app.service.get("v1/search", { text, limit: HITS })).hits;
}

/** The entries, with the nearest concepts of identifiers that the release does not hold; of the first few of them. @returns {Promise<Entry[]>} */
export async function withNearest(app, entries) {
  const absent = entries.filter(({ note, hits }) => note === ABSENT && !hits.length).slice(0, TOGETHER);
  const nearest = await Promise.all(absent.map(({ cui }) => nearestConcepts(app, cui).catch(() => [])));
  return entries.map((entry) => (absent.includes(entry) ? { ...entry, hits: nearest[absent.indexOf(entry)].slice(0, NEAREST) } : entry));
}

/** Identifiers that differ in one slip: two digits exchanged, first; one digit more or less; one other digit. */
function slips(cui) {
  const digits = cui.slice(1);
  const places = [...digits].map((_, i) => i);
  const exchanged = (i, removed, added) => digits.slice(0, i) + added + digits.slice(i + removed);
  const every = (removed) => [...places, digits.length].flatMap((i) => [..."0123456789"].map((digit) => exchanged(i, removed, digit)));
  const near = [...places.map((i) => exchanged(i, 2, digits.slice(i, i + 2).split("").reverse().join(""))),
    ...(digits.length < 7 ? every(0) : digits.length > 7 ? places.map((i) => exchanged(i, 1, "")) : every(1).filter((other) => other.length === 7))];
  return [...new Set(near)].filter((other) => other !== digits).map((other) => `C${other}`).filter((other) => /^C\d{7}$/.test(other));
}

/** The identifiers among the words of texts. @returns {Promise<Map<string, Entry>>} */
async function identifiers(app, pieces, signal) {
  const words = new Set(pieces.flatMap((piece) => [piece, bracketed(piece), ...wordsOf(piece)]).filter((word) => word && !/\s/.test(word)));
  const cuis = app.release.identifiers === "cui";
  const isCui = (word) => /^C\d{7}$/i.test(word);
  const requested = [...words].filter((word) => !cuis || isCui(word));
  const entries = await described(app, requested.map((word) => (cuis ? word.toUpperCase() : word)), signal);
  const isHeld = (entry) => cuis || entry.note !== ABSENT || !app.release.names;
  return new Map(requested.map((word, i) => [word, entries[i]]).filter(([, entry]) => isHeld(entry)));
}

/** @returns {Promise<Entry[]>} */
async function meaning(app, piece, byWord, signal) {
  const own = byWord.get(piece) ?? byWord.get(bracketed(piece));
  if (own) return [own];
  const words = wordsOf(piece);
  if (words.length && words.every((word) => byWord.has(word))) return words.map((word) => byWord.get(word));
  if (!app.release.names) return words.map((word) => byWord.get(word) ?? unclear(word, "not an identifier"));
  const mixed = words.some((word) => byWord.has(word));
  const entry = mixed ? null : await named(app, piece, signal);
  const divided = piece.split(",").map(trimmed).filter(Boolean);
  if (entry?.cui || divided.length < 2) return [entry ?? await named(app, piece, signal)];
  return (await inTurn(divided, (one) => meaning(app, one, byWord, signal))).flat();
}

/** The concept that has a name; the nearest ones if none has, or several have. @returns {Promise<Entry>} */
async function named(app, text, signal) {
  const { hits } = await app.service.get("v1/search", { text, limit: HITS }, signal);
  const exact = hits.filter((hit) => hit.kind === "exact");
  const preferred = exact.filter((hit) => hit.name?.toLocaleLowerCase("en") === text.toLocaleLowerCase("en"));
  const one = exact.length === 1 ? exact[0] : preferred.length === 1 ? preferred[0] : null;
  if (one) return { cui: one.cui, name: one.name, text, hits: [], note: exact.length > 1 ? `1 of ${exact.length} so named` : "" };
  if (exact.length) return { ...unclear(text, `the name of ${exact.length} concepts`), hits: exact };
  return { ...unclear(text, hits.length ? "not understood; nearest:" : "not understood"), hits: hits.slice(0, NEAREST) };
}

function unclear(text, note) {
  return { cui: "", name: null, note, text, hits: [] };
}

/** "C0018787" of "Heart (C0018787)". */
function bracketed(piece) {
  return piece.match(/\(([^()\s]+)\)$/)?.[1] ?? "";
}

function wordsOf(piece) {
  return piece.split(/[\s,]+/).map(trimmed).filter(Boolean);
}

function trimmed(text) {
  return text.trim().replace(/^'+|'+$/g, "");
}

/** The answers to questions in their order, `TOGETHER` asked at a time. */
async function inTurn(items, ask) {
  const answers = [];
  for (let first = 0; first < items.length; first += TOGETHER) {
    answers.push(...await Promise.all(items.slice(first, first + TOGETHER).map(ask)));
  }
  return answers;
}
