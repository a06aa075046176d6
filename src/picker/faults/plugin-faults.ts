import {
  type FaultCount,
  type FaultyPart,
  messageOf,
  type PluginFault,
  RoutingError,
} from '../../framework/error.ts';
import type { Millis } from '../../framework/runtime.ts';

export interface PluginFaultsOptions {
  readonly now: () => Millis;
  /**
   * Called for the first failure of each call of each part, and then at most once a minute. What it
   * throws has no effect.
   */
  readonly onFault?: ((fault: PluginFault) => void) | undefined;
}

const REPORT_INTERVAL_MS = 60_000;
/**
 * A configuration has tens of plugins with a few calls each. Configurations may follow for ever.
 */
const CALLS_MAX = 1000;
const OTHER: FaultyPart = { kind: 'other', name: 'other' };

interface Tally {
  readonly part: FaultyPart;
  readonly call: string;
  count: number;
  reportedAt: Millis;
}

/** Counts and reports the failures of plugins and observers, which cost no request. */
export class PluginFaults {
  readonly #options: PluginFaultsOptions;
  readonly #parts = new WeakMap<object, FaultyPart>();
  readonly #tallies = new Map<string, Tally>();
  #recent: string[] = [];
  #lastError: unknown;

  constructor(options: PluginFaultsOptions = { now: () => 0 }) {
    this.#options = options;
  }

  /** Says which part of the configuration an object is. */
  identify(part: object, { kind, name }: FaultyPart): void {
    this.#parts.set(part, { kind, name });
  }

  /** Begins a decision: `recent` then holds its failures only. */
  begin(): void {
    if (this.#recent.length > 0) this.#recent = [];
  }

  /** One sentence for each failure since `begin`. */
  get recent(): readonly string[] {
    return this.#recent;
  }

  /** What the last failure threw. */
  get lastError(): unknown {
    return this.#lastError;
  }

  /**
   * Reports as `report` does, but throws a RoutingError again: it is how plugins refuse requests.
   */
  reportOrRefuse(part: object, call: string, error: unknown): void {
    if (error instanceof RoutingError) throw error;
    this.report(part, call, error);
  }

  /** Counts a failure. Never throws: the caller goes on without what has failed. */
  report(part: object, call: string, error: unknown): void {
    const { now, onFault } = this.#options;
    const known = this.#parts.get(part) ?? { kind: 'observer', name: typeNameOf(part) };
    const tally = this.#tallyOf(known, call);
    tally.count += 1;
    this.#lastError = error;
    this.#recent.push(`${known.kind} ${known.name} failed in ${call}: ${messageOf(error)}`);
    const at = now();
    if (at - tally.reportedAt < REPORT_INTERVAL_MS) return;
    tally.reportedAt = at;
    try {
      onFault?.({ ...known, call, count: tally.count, error });
    } catch {
      // The report itself has failed, and there is nothing else to report to.
    }
  }

  counts(): readonly FaultCount[] {
    return Array.from(this.#tallies.values(), ({ part, call, count }) => ({
      ...part,
      call,
      count,
    }));
  }

  #tallyOf(part: FaultyPart, call: string): Tally {
    const key = [part.kind, part.name, call].join('\n');
    const found = this.#tallies.get(key);
    if (found !== undefined) return found;
    if (this.#tallies.size >= CALLS_MAX && part !== OTHER) return this.#tallyOf(OTHER, 'any');
    const tally = { part, call, count: 0, reportedAt: Number.NEGATIVE_INFINITY };
    this.#tallies.set(key, tally);
    return tally;
  }
}

/** The name of a part's class. */
export function typeNameOf(part: object): string {
  const prototype = Object.getPrototypeOf(part) as { readonly constructor?: Function } | null;
  return prototype?.constructor?.name ?? 'object';
}
