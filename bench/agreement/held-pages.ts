import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';

/** Pages that all servers show from one moment on, until the next are taken. */
export interface Hold {
  /** They were taken between these times, in milliseconds of the process. */
  readonly takenFrom: number;
  readonly takenBy: number;
  /** From then on both pickers know them; undefined while they may not. */
  readonly settledAt: number | undefined;
}

/** Which of the held pages a picker may have read for a request, by their numbers. */
export interface Readable {
  readonly first: number;
  readonly last: number;
}

/**
 * So many readings of each page are waited for. Two pickers read each page at the same rate, one
 * reading after the other, so that the first of them is known to both.
 */
const READINGS = 6;
const FINISHED = 'http.server.response.finish';

/**
 * Lets the metrics pages of a pool of this process stand still, and renews them when it is asked
 * to: then it is known what another picker has read.
 */
export class HeldPages {
  readonly #faultsUrl: string;
  readonly #readings: Map<number, number>;
  readonly #holds: Hold[] = [];
  #onRead: (() => void) | undefined;

  /** `control`: of the pool's control server; `addresses`: of its servers. */
  constructor(control: string, addresses: readonly string[]) {
    this.#faultsUrl = `http://${control}/faults`;
    this.#readings = new Map(addresses.map((each) => [Number(new URL(`http://${each}`).port), 0]));
    subscribe(FINISHED, this.#onFinished);
  }

  get holds(): readonly Hold[] {
    return this.#holds;
  }

  stop(): void {
    unsubscribe(FINISHED, this.#onFinished);
    this.#onRead?.();
  }

  /** Takes the pages as they are now. */
  async take(): Promise<void> {
    const takenFrom = performance.now();
    const body = JSON.stringify({ kind: 'stale-metrics', server: 'all' });
    const response = await fetch(this.#faultsUrl, { method: 'POST', body });
    if (!response.ok) throw new Error(`${this.#faultsUrl} answered ${response.status}`);
    await response.text();
    this.#holds.push({ takenFrom, takenBy: performance.now(), settledAt: undefined });
  }

  /** Resolves when both pickers have read the pages that were taken last. */
  async settle(): Promise<void> {
    for (const port of this.#readings.keys()) this.#readings.set(port, 0);
    await new Promise<void>((resolve) => {
      this.#onRead = resolve;
    });
    const last = this.#holds.pop();
    if (last !== undefined) this.#holds.push({ ...last, settledAt: performance.now() });
  }

  readonly #onFinished = (message: unknown): void => {
    const { request } = message as { readonly request: IncomingMessage };
    const port = request.socket.localPort ?? 0;
    const readings = this.#readings.get(port);
    if (readings === undefined || request.url !== '/metrics') return;
    this.#readings.set(port, readings + 1);
    if (Math.min(...this.#readings.values()) >= READINGS) this.#onRead?.();
  };
}

/** What could be read for a request that was sent and answered at these times. */
export function readableIn(holds: readonly Hold[], sentAt: number, answeredAt: number): Readable {
  const known = holds.findLastIndex(
    ({ settledAt }) => settledAt !== undefined && settledAt < sentAt,
  );
  const taken = holds.findLastIndex(({ takenFrom }) => takenFrom < answeredAt);
  return { first: Math.max(0, known), last: Math.max(0, taken) };
}
