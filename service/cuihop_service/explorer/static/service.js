// Questions to the service, and what can go wrong with them.

const LONGEST = 60_000; // ms; the service itself gives up earlier

/** An answer that is an error. `reason` is the service's own word, or one of NO_ANSWER, TOO_SLOW, NOT_UNDERSTOOD. */
export class Problem extends Error {
  /** @param {{reason: string, status?: number, detail?: string, faults?: any[], advice?: string, requestId?: string,
   * retryAfter?: number}} problem */
  constructor(problem) {
    super(problem.detail ?? problem.reason);
    this.reason = problem.reason;
    this.status = problem.status ?? 0;
    this.detail = problem.detail ?? "";
    this.advice = problem.advice ?? "";
    this.faults = problem.faults ?? [];
    this.requestId = problem.requestId ?? "";
    this.retryAfter = problem.retryAfter ?? 0;
  }
}

const KEY = "cuihop-key";

/** The key, for as long as this tab is open. */
export const key = {
  get() {
    return sessionStorage.getItem(KEY);
  },
  set(value) {
    sessionStorage.setItem(KEY, value);
  },
  forget() {
    sessionStorage.removeItem(KEY);
  },
};

const ACTIVATION = "X-Release-Activation";

/** The newest activation of a release among the answers, for as long as this tab is open. Sent with each request: another
 * replica of the service then does not answer from an older release. */
const newest = {
  get() {
    return sessionStorage.getItem(ACTIVATION);
  },
  note(seen) {
    const number = (text) => BigInt(text?.split("-")[0] ?? -1);
    if (seen && number(seen) > number(this.get())) sessionStorage.setItem(ACTIVATION, seen);
  },
};

/** Who answers. Addresses are relative to the page, so that a proxy may put both below any path. */
export class Service {
  /**
   * @param {(answer: {release: string, tier: string}) => void} heard gets each answer
   * @param {(problem: Problem, sent: boolean) => void} unknown called where the service wants to know who asks, and
   *   whether a key was sent; once for each key, however many requests were under way
   */
  constructor(heard, unknown) {
    this.heard = heard;
    this.unknown = unknown;
  }

  /** @param {string} path @param {Record<string, any>} [query] @param {AbortSignal} [signal] */
  get(path, query = {}, signal) {
    const given = Object.entries(query).flatMap(([name, value]) => [value].flat().map((one) => [name, one]))
      .filter(([, value]) => value !== null && value !== undefined && value !== "");
    const requested = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
    return this.#ask(requested ? `${path}?${requested}` : path, { method: "GET" }, signal, query.within_sabs?.length > 0);
  }

  /** @param {string} path @param {Record<string, any>} body @param {AbortSignal} [signal] */
  post(path, body, signal) {
    const headers = { "Content-Type": "application/json" };
    return this.#ask(path, { method: "POST", headers, body: JSON.stringify(body) }, signal, body.within_sabs?.length > 0);
  }

  /** @param {boolean} restricted to vocabularies: the answer has the digest of another graph, not of another release */
  async #ask(path, options, signal, restricted) {
    const headers = { ...options.headers };
    const sent = key.get();
    if (sent) headers.Authorization = `Bearer ${sent}`;
    const seen = newest.get();
    if (seen) headers[ACTIVATION] = seen;
    const slow = AbortSignal.timeout(LONGEST);
    const stop = signal ? AbortSignal.any([signal, slow]) : slow;
    let response;
    let text;
    try {
      const address = new URL(path, document.baseURI);
      response = await fetch(address, { ...options, headers, signal: stop, credentials: "same-origin" });
      newest.note(response.headers.get(ACTIVATION));
      text = await response.text();
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new Problem({ reason: slow.aborted ? "TOO_SLOW" : "NO_ANSWER" });
    }
    let answer;
    try {
      answer = JSON.parse(text);
    } catch {
      throw new Problem({ reason: "NOT_UNDERSTOOD", status: response.status });
    }
    if (!response.ok) {
      const wait = Number(response.headers.get("Retry-After"));
      const problem = new Problem({
        reason: answer.reason ?? "NOT_UNDERSTOOD",
        status: response.status,
        detail: answer.detail,
        advice: answer.advice,
        faults: answer.faults,
        requestId: answer.request_id,
        retryAfter: Number.isFinite(wait) ? wait : 0,
      });
      if (problem.reason === "NOT_AUTHENTICATED" && sent === key.get()) this.unknown(problem, sent !== null);
      throw problem;
    }
    if (answer.release && answer.tier && !restricted) this.heard(answer);
    return answer;
  }
}

/** Whether an error only means that nobody waits for the answer any more. */
export function isCancelled(error) {
  return error instanceof DOMException && error.name === "AbortError";
}
