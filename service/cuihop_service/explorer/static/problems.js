// What went wrong, in words, and what to do about it.

import { el, fill, announce } from "./dom.js";
import { Problem } from "./service.js";
import { conceptAddress } from "./address.js";

const RELATIONS = { RB: "broader", RN: "narrower", RO: "related", SY: "the same", code: "its concept" };

const WORDS = {
  NO_ANSWER: ["The service does not answer", "It may be stopped, or the network may be down. What you typed is still here."],
  TOO_SLOW: ["No answer within a minute", "The service may be very busy. Try again, or ask for less."],
  NOT_UNDERSTOOD: ["The answer was not one of cuihop's", "Something between this page and the service answered in its place, such as a proxy."],
  CONCEPT_NOT_FOUND: ["Unknown concept", "This release does not hold it. Search by name, or check the identifier."],
  CONCEPT_RETIRED: ["Retired concept", "It has no one successor in this release."],
  AMBIGUOUS_CODE: ["A code of several concepts", "Choose one of them."],
  INVALID_CUI: ["Not an identifier", ""],
  RATE_LIMITED: ["Too many requests for now", ""],
  LIMIT_EXCEEDED: ["Larger than this service allows", ""],
  NOT_ALLOWED: ["Your key does not open this", "Ask whoever runs the service for a key with the scope that is named here."],
  NOT_AUTHENTICATED: ["The key was not accepted", ""],
  GRAPH_UNAVAILABLE: ["The service has no graph at the moment", "Its database may be starting or away."],
  RELEASE_BEHIND: ["This part of the service still has an older release", "Try again in a moment."],
  TIMED_OUT: ["The answer took too long", "Ask for less, such as fewer hops or a shorter text, or try again."],
  RELEASE_MISMATCH: ["The release was exchanged meanwhile", "Ask again for answers from the new one."],
  INTERNAL: ["A fault in the service", "Please report it, with the number below."],
};

const OF_CONCEPTS = ["CONCEPT_NOT_FOUND", "CONCEPT_RETIRED", "AMBIGUOUS_CODE", "INVALID_CUI"]; // asking again would change nothing

/** Concepts near an identifier that is not one, which the page sets when it begins. @type {(text: string) => Promise<{cui: string, name: string|null}[]>} */
let nearest = async () => [];
export function useNearest(find) {
  nearest = find;
}

/** Title and advice for a problem. @param {Problem} problem @returns {[string, string]} */
export function inWords(problem) {
  return WORDS[problem.reason] ?? ["The service refused the request", ""];
}

/**
 * A panel that reports a problem, with a button to try again.
 * @param {unknown} error
 * @param {() => void} again
 * @returns {HTMLElement}
 */
export function problemPanel(error, again) {
  if (!(error instanceof Problem)) {
    console.error(error);
    error = new Problem({ reason: "INTERNAL", detail: "a fault in this page" });
  }
  const problem = /** @type {Problem} */ (error);
  const [title, advice] = inWords(problem);
  const sought = OF_CONCEPTS.includes(problem.reason) ? problem.faults.map((fault) => fault.cui ?? fault.requested).find(Boolean) : "";
  const retry = sought ? nearestTo(sought, problem.reason !== "CONCEPT_RETIRED" && !problem.faults.some((fault) => fault.candidates?.length)) : el("button", { type: "button", onclick: again }, "Try again");
  if (problem.reason === "RATE_LIMITED") countDown(retry, Math.max(1, problem.retryAfter));
  return el(
    "section",
    { class: "problem", role: "alert", "data-reason": problem.reason },
    el("h2", {}, title),
    problem.detail && el("p", {}, problem.detail),
    (problem.advice || advice) && el("p", {}, problem.advice || advice),
    problem.faults.map(candidates),
    el("p", { class: "row" }, retry, problem.requestId && el("small", {}, `Request ${problem.requestId}`)),
  );
}

/** Links to concepts that may be meant, unless the release itself suggests some; the field that holds the identifier, or the first one, gets the focus. */
function nearestTo(text, isUnknown) {
  const place = el("span", { class: "nearest" });
  if (isUnknown) nearest(text).then((concepts) => concepts.length && fill(place, "Nearest: ", concepts.map(({ cui, name }, i) => [i > 0 && ", ",
    el("a", { href: conceptAddress(cui) }, name ?? cui), name && [" ", el("code", {}, cui)]]))).catch(() => null);
  setTimeout(() => {
    const fields = [...document.querySelectorAll("main input[role=combobox]")];
    const free = [document.body, document.getElementById("main")].includes(document.activeElement);
    if (free) (fields.find((field) => field.closest(".field").textContent.includes(text)) ?? fields[0])?.focus();
  });
  return place;
}

/** True for a code, a CURIE or a URI that stands for a concept; other identifiers that do are retired. */
export function isCode(old, now) {
  return old.includes(":") && old.split(":")[0] !== now.split(":")[0];
}

/** Notices of the retired concepts and the codes in a request. @param {Record<string, string>} merged */
export function successors(merged) {
  return Object.entries(merged).map(([old, now]) =>
    el("p", { class: "notice" }, isCode(old, now) ? `${old} stands for ${now}.` : `${old} is retired; ${now} is its successor.`));
}

/** What the release suggests for a retired concept, or for a name. */
export function candidates(fault) {
  if (!fault.candidates?.length) return null;
  return el(
    "p",
    {},
    `In place of ${fault.cui ?? fault.requested} the release suggests: `,
    fault.candidates.map((found, place) => [
      place > 0 && ", ",
      el("a", { href: conceptAddress(found.cui) }, found.cui),
      ` (${found.name ?? RELATIONS[found.relation] ?? found.relation})`,
    ]),
  );
}

function countDown(button, seconds) {
  let left = Math.ceil(seconds);
  const show = () => {
    button.disabled = left > 0;
    button.textContent = left > 0 ? `Try again in ${left} s` : "Try again";
    left -= 1;
    if (left >= 0) setTimeout(show, 1000);
  };
  show();
}

/** Runs `work`; a problem is reported in `place`, and asking again runs it again. */
export async function reported(place, signal, work) {
  try {
    await work();
  } catch (error) {
    if (signal.aborted) return;
    fill(place, problemPanel(error, () => {
      fill(place, el("p", { class: "waiting" }, "Trying again …"));
      reported(place, signal, work);
    }));
    announce(error instanceof Problem ? inWords(error)[0] : "A fault in this page");
  }
}
