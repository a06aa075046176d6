import type { Clock, Random } from '../../src/framework/runtime.ts';
import type { ModelEngine } from '../engine/model-engine.ts';
import type { Fault, FaultKind, TimedFault } from './fault.ts';

type SharedFault<Kind> = Fault & { readonly kind: Kind; readonly share: number };

interface FaultyParts {
  readonly engine: ModelEngine;
  readonly random: Random;
  readonly metricsPage: () => string;
  /** Resets the state of the server around the engine. */
  readonly onCrash: () => void;
  /** Called at the end of a crash: the server starts again. */
  readonly onRestart: () => void;
}

/** The current faults of one server, at most one of each kind. */
export class ActiveFaults {
  readonly #parts: FaultyParts;
  readonly #active = new Map<FaultKind, Fault>();
  #stalePage = '';

  constructor(parts: FaultyParts) {
    this.#parts = parts;
  }

  get active(): readonly Fault[] {
    return [...this.#active.values()];
  }

  /** Begins a fault, which replaces one of the same kind. */
  begin(fault: Fault): void {
    const { engine, metricsPage, onCrash } = this.#parts;
    this.#active.set(fault.kind, fault);
    if (fault.kind === 'stale-metrics') this.#stalePage = metricsPage();
    if (fault.kind === 'crash') {
      engine.crash();
      onCrash();
    }
    this.#setPace();
  }

  end(kind?: FaultKind): void {
    const restarts = this.#active.has('crash') && (kind ?? 'crash') === 'crash';
    if (kind === undefined) this.#active.clear();
    else this.#active.delete(kind);
    this.#setPace();
    if (restarts) this.#parts.onRestart();
  }

  /**
   * How the server handles a new request: it serves it, resets the connection, never answers, or
   * answers a POST with nothing.
   */
  get reception(): 'serve' | 'reset' | 'ignore' | 'empty' {
    if (this.#active.has('refuse') || this.#active.has('crash')) return 'reset';
    if (this.#active.has('hang')) return 'ignore';
    return this.#active.has('empty') ? 'empty' : 'serve';
  }

  /** Draws the error status of a generating request, if it fails. */
  get errorStatus(): number | undefined {
    return this.#draw('error')?.status;
  }

  /** Draws after how many tokens an answer is cut off, if it is. */
  get dropsAfterTokens(): number | undefined {
    return this.#draw('drop')?.afterTokens;
  }

  /** Draws whether a whole answer is cut off. */
  get truncates(): boolean {
    return this.#draw('truncate') !== undefined;
  }

  /** The page of /metrics; undefined for a 404. */
  metrics(): string | undefined {
    if (this.#active.has('no-metrics')) return undefined;
    if (this.#active.has('garbage-metrics')) return '\u0000\ufffd{{{ not metrics at all "\n= = =\n';
    return this.#active.has('stale-metrics') ? this.#stalePage : this.#parts.metricsPage();
  }

  /** The fault of this kind, in its share of the cases. */
  #draw<Kind extends 'error' | 'drop' | 'truncate'>(kind: Kind): SharedFault<Kind> | undefined {
    const fault = this.#active.get(kind) as SharedFault<Kind> | undefined;
    return fault !== undefined && this.#parts.random.next() < fault.share ? fault : undefined;
  }

  #setPace(): void {
    const slow = this.#active.get('slow');
    const factor = slow?.kind === 'slow' ? slow.factor : 1;
    this.#parts.engine.slowdown = this.#active.has('stuck') ? Number.POSITIVE_INFINITY : factor;
  }
}

/** Begins and ends faults on schedule. `servers`: server → rank; faults of others are ignored. */
export function scheduleFaults(
  schedule: readonly TimedFault[],
  servers: readonly (readonly ActiveFaults[])[],
  clock: Clock,
): { stop(): void } {
  const timers = schedule.flatMap(({ server, atMs, forMs, fault }) =>
    (servers[server] ?? []).flatMap((faults) => [
      clock.setTimer(atMs, () => faults.begin(fault)),
      clock.setTimer(atMs + forMs, () => faults.end(fault.kind)),
    ]),
  );
  return {
    stop: () => {
      for (const timer of timers) timer.cancel();
    },
  };
}
