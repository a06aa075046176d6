import type { Clock } from '../../framework/runtime.ts';
import type { DecisionMessage, PickerMessage, Welcome } from '../messages.ts';

/** A stream to the scheduler under test. */
export interface SchedulerSession {
  readonly welcome: Welcome;
  /** Why the stream has ended; undefined while it is open. */
  readonly ended: string | undefined;
  /** `extra`: bytes to append to the encoded message. */
  send(message: PickerMessage, extra?: Uint8Array): void;
  /** All decisions for these requests, once each has one or `ANSWER_TIMEOUT_MS` have passed. */
  decisions(ids: readonly string[]): Promise<readonly DecisionMessage[]>;
  close(): void;
}

/** Opens a stream and waits for its Welcome. Rejects with a reason if none comes. */
export type OpenSession = (hello?: { readonly version?: number }) => Promise<SchedulerSession>;

/** Long, as the contract is about correct decisions, not fast ones. */
export const ANSWER_TIMEOUT_MS = 2000;

/** Request headers that every scheduler under test may ask for. */
export const OFFERED_HEADERS: readonly string[] = ['x-tenant', 'x-session'];

/** Keeps the decisions that arrive on a stream and waits for them. */
export class ReceivedDecisions {
  readonly #clock: Clock;
  readonly #byId = new Map<string, DecisionMessage[]>();
  ended: string | undefined;
  #wake: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(...decisions: readonly DecisionMessage[]): void {
    for (const decision of decisions) {
      this.#byId.set(decision.id, [...(this.#byId.get(decision.id) ?? []), decision]);
    }
    this.#wake?.();
  }

  /** The first reason counts. */
  end(reason: string): void {
    this.ended ??= reason;
    this.#wake?.();
  }

  async of(ids: readonly string[]): Promise<readonly DecisionMessage[]> {
    await this.until(() => ids.every((id) => this.#byId.has(id)));
    return ids.flatMap((id) => this.#byId.get(id) ?? []);
  }

  /** Waits for the condition, the end of the stream, or `ANSWER_TIMEOUT_MS`. */
  async until(condition: () => boolean): Promise<void> {
    let timedOut = false;
    const timer = this.#clock.setTimer(ANSWER_TIMEOUT_MS, () => {
      timedOut = true;
      this.#wake?.();
    });
    while (!timedOut && this.ended === undefined && !condition()) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    timer.cancel();
  }
}
