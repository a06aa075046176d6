import type { Clock, Millis } from '../../framework/runtime.ts';

/** A host with so many questions is slower than the others, or does not answer at all. */
const OPEN_MAX = 8;
/** How long a host is left out that failed, or did not answer a request in time. */
const LEFT_OUT_MS: Millis = 1000;
/** Hosts that are gone are forgotten when there are more than this. */
const HOSTS_MAX = 1000;

/** Whether the host does its work; one that refuses a prompt does. */
export type HostAnswer = 'usable' | 'failed';

interface HostState {
  open: number;
  leftOutUntil: Millis;
}

/**
 * Which tokenizers should not be asked while there are others. Otherwise one that never answers
 * holds all questions that may be under way, and every request is without tokens.
 */
export class TokenizerHosts {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #hosts = new Map<string, HostState>();

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  shouldBeAsked(host: string): boolean {
    const { open = 0, leftOutUntil = 0 } = this.#hosts.get(host) ?? {};
    return open < OPEN_MAX && this.#clock.now() >= leftOutUntil;
  }

  onAsked(host: string): void {
    if (this.#hosts.size >= HOSTS_MAX) this.#forgetIdle();
    const state = this.#hosts.get(host);
    if (state === undefined) this.#hosts.set(host, { open: 1, leftOutUntil: 0 });
    else state.open += 1;
  }

  onAnswered(host: string, answer: HostAnswer): void {
    const state = this.#hosts.get(host);
    if (state === undefined) return;
    state.open -= 1;
    if (answer === 'usable') state.leftOutUntil = 0;
    else this.onLate(host);
  }

  /** A request did not get its tokens in time. */
  onLate(host: string): void {
    const state = this.#hosts.get(host);
    if (state !== undefined) state.leftOutUntil = this.#clock.now() + LEFT_OUT_MS;
  }

  #forgetIdle(): void {
    const now = this.#clock.now();
    for (const [host, { open, leftOutUntil }] of this.#hosts) {
      if (open === 0 && leftOutUntil <= now) this.#hosts.delete(host);
    }
  }
}
