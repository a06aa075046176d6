import { type Endpoint, isFresh, METRICS_STALE_MS } from '../../framework/endpoint.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { EndpointEntry, ListedReservation } from './endpoint-entry.ts';
import type { Ledger } from './ledger.ts';

export interface LostRequestsOptions {
  readonly pool: { snapshot(): readonly Endpoint[] };
  readonly ledger: Pick<Ledger, 'entryOf'>;
}

/** A request may take so long to the engine, and into its metrics. */
const ON_ITS_WAY_MS: Millis = 100;
/**
 * For so long all samples must show too few requests: SGLang writes its metrics once in 40 steps.
 */
const SHOWN_MS: Millis = 5000;

/** What the samples of one endpoint have shown. */
interface ShownRequests {
  readonly entry: EndpointEntry;
  sampledAt: Millis;
  /** Since when samples have shown too few requests, and how many were missing at least. */
  since: Millis;
  leastMissing: number;
}

/**
 * Finds the requests that their servers have lost, such as by a crash that left the connections
 * open: clients may wait for them for minutes, and nothing is computed for them. They are no load,
 * or a server that works again would get few requests until the last of these clients gives up.
 *
 * One is lost where a request that was sent when it was late already has its first token before
 * it, unless the server's metrics have a request that waits. And where all samples of some time
 * have fewer requests than must be in the engine, the difference is lost: those whose answers have
 * begun, and those that have been overtaken. Others may still wait in front of the engine, whose
 * metrics do not count them there. A first token shows that a request was slow: it counts again.
 *
 * Looks only when a request is placed, so that a capture, which has the samples of these times,
 * gives the same load again.
 */
export class LostRequests {
  readonly #options: LostRequestsOptions;
  /** By slot. */
  readonly #shown: (ShownRequests | undefined)[] = [];

  constructor(options: LostRequestsOptions) {
    this.#options = options;
  }

  /** Returns whether the load of an endpoint has changed. */
  look(at: Millis): boolean {
    const { pool, ledger } = this.#options;
    let hasChanged = false;
    for (const endpoint of pool.snapshot()) {
      const entry = ledger.entryOf(endpoint);
      if (entry === undefined || entry.open === 0) continue;
      if (endpoint.metrics.runningRequests > 0) entry.reportsRunning = true;
      if (findOvertaken(entry, endpoint, at)) hasChanged = true;
      if (this.#findMissing(entry, endpoint)) hasChanged = true;
    }
    return hasChanged;
  }

  #findMissing(entry: EndpointEntry, endpoint: Endpoint): boolean {
    const { sampledAt } = endpoint.metrics;
    const shown = this.#shownOf(entry, endpoint);
    const reported = reportedRequests(endpoint);
    if (!entry.reportsRunning || (entry.open <= reported && entry.lost === 0)) {
      restart(shown, sampledAt);
      return false;
    }
    const sums = sumsOf(entry, sampledAt);
    const missing = sums.counted - reported;
    if (missing <= 0) restart(shown, sampledAt);
    else shown.leastMissing = Math.min(shown.leastMissing, missing);
    let hasChanged = false;
    if (sampledAt - shown.since >= SHOWN_MS) {
      hasChanged = takeForLost(entry, shown.leastMissing, shown.since);
      restart(shown, sampledAt);
    }
    return findAgain(entry, sums.sent - reported) || hasChanged;
  }

  /** With a sample that came late, the time begins anew: what was between is not known. */
  #shownOf(entry: EndpointEntry, { slot, metrics: { sampledAt } }: Endpoint): ShownRequests {
    let shown = this.#shown[slot];
    if (shown?.entry !== entry) {
      shown = { entry, sampledAt, since: sampledAt, leastMissing: Number.POSITIVE_INFINITY };
      this.#shown[slot] = shown;
    } else if (sampledAt - shown.sampledAt > METRICS_STALE_MS) restart(shown, sampledAt);
    shown.sampledAt = sampledAt;
    return shown;
  }
}

function restart(shown: ShownRequests, at: Millis): void {
  shown.since = at;
  shown.leastMissing = Number.POSITIVE_INFINITY;
}

function reportedRequests({ metrics }: Endpoint): number {
  return metrics.runningRequests + metrics.waitingQueueSize;
}

/**
 * Requests that owe a first token, and were late when one was sent that has its own. Each request
 * that waits at the server, as it reports, may be one of them: such as one that waits for an
 * adapter, or has a low priority. In doubt it is the newest.
 */
function findOvertaken(entry: EndpointEntry, endpoint: Endpoint, at: Millis): boolean {
  const { waitingQueueSize, sampledAt } = endpoint.metrics;
  const isKnown = isFresh(endpoint, at);
  const overtaken: ListedReservation[] = [];
  for (const one of inOrder(entry)) {
    if (one.sentAt > entry.answeredSentAt) break;
    const { owedAt } = one;
    const isShown = !isKnown || sampledAt >= owedAt;
    if (one.lost === undefined && owedAt <= entry.answeredSentAt && isShown) overtaken.push(one);
  }
  const waiting = isKnown ? waitingQueueSize : 0;
  const lost = overtaken.slice(0, Math.max(0, overtaken.length - waiting));
  for (const one of lost) one.setLost('overtaken');
  return lost.length > 0;
}

/** What a sample should show of what is in flight. */
interface Sums {
  /** Requests that it surely counts, if they are there. */
  readonly counted: number;
  /** Requests that it may count. */
  readonly sent: number;
}

function sumsOf(entry: EndpointEntry, sampledAt: Millis): Sums {
  let [counted, sent] = [0, 0];
  for (const one of inOrder(entry)) {
    if (one.countedFrom + ON_ITS_WAY_MS <= sampledAt) counted += 1;
    if (one.sentAt <= sampledAt) sent += 1;
  }
  return { counted, sent };
}

/**
 * Takes so many requests for lost that `missing` are, of those that were counted `before`: first
 * those without a first token, and the oldest of them.
 */
function takeForLost(entry: EndpointEntry, missing: number, before: Millis): boolean {
  let left = missing - entry.lost;
  if (left <= 0) return false;
  const could = [...inOrder(entry)].filter(
    (one) => one.lost === undefined && one.countedFrom + ON_ITS_WAY_MS <= before,
  );
  const isOwed = (one: ListedReservation): boolean => Number.isFinite(one.owedAt);
  const owed = could.filter(isOwed);
  for (const one of [...owed, ...could.filter((each) => !isOwed(each))]) {
    if (left-- <= 0) break;
    one.setLost('missing');
  }
  return could.length > 0;
}

/** Counts lost requests again until at most `missingMax` are missing: the server has the others. */
function findAgain(entry: EndpointEntry, missingMax: number): boolean {
  let hasChanged = false;
  for (const one of inOrder(entry)) {
    if (entry.lost <= Math.max(0, missingMax)) break;
    if (one.lost !== 'missing') continue;
    one.setLost(undefined);
    hasChanged = true;
  }
  return hasChanged;
}

function* inOrder(entry: EndpointEntry): Generator<ListedReservation, void> {
  for (let one = entry.oldest; one !== undefined; one = one.newer) yield one;
}
