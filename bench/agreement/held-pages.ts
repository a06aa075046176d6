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

/** Two pickers read each page, each by a connection of its own, one reading after the other. */
const PICKERS = 2;
/** So many readings by each are waited for: the first of them are known to it. */
const READINGS = 3;
const FINISHED = 'http.server.response.finish';

/**
 * Lets the metrics pages of a pool of this process stand still, and renews them when it is asked
 * to: then it is known what another picker has read.
 */
export class HeldPages {
  readonly #faultsUrl: string;
  /** By port of a server: how often its page was read, by port of the reader. */
  readonly #readings: ReadonlyMap<number, Map<number, number>>;
  readonly #holds: Hold[] = [];
  #onRead: (() => void) | undefined;

  /** `control`: of the pool's control server; `addresses`: of its servers. */
  constructor(control: string, addresses: readonly string[]) {
    this.#faultsUrl = `http://${control}/faults`;
    const ports = addresses.map((each) => Number(new URL(`http://${each}`).port));
    this.#readings = new Map(ports.map((port) => [port, new Map<number, number>()]));
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
    for (const readings of this.#readings.values()) readings.clear();
    await new Promise<void>((resolve) => {
      this.#onRead = resolve;
    });
    const last = this.#holds.pop();
    if (last !== undefined) this.#holds.push({ ...last, settledAt: performance.now() });
  }

  readonly #onFinished = (message: unknown): void => {
    const { request } = message as { readonly request: IncomingMessage };
    const { localPort = 0, remotePort = 0 } = request.socket;
    const readings = this.#readings.get(localPort);
    if (readings === undefined || request.url !== '/metrics') return;
    readings.set(remotePort, (readings.get(remotePort) ?? 0) + 1);
    if ([...this.#readings.values()].every(isKnown)) this.#onRead?.();
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

function isKnown(readings: ReadonlyMap<number, number>): boolean {
  return [...readings.values()].filter((count) => count >= READINGS).length >= PICKERS;
}
