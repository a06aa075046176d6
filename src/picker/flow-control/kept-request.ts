import type { FlowPlace } from '../../flow/control/flow-place.ts';
import type { Waiting } from '../../flow/discipline.ts';
import type { Share } from '../../flow/fair-shares.ts';
import type { PrepareOptions } from '../../framework/routing.ts';

interface KeptRequestParts {
  readonly waiting: Waiting;
  /** The share of its flow. */
  readonly share: Share;
  readonly body: readonly Uint8Array[];
  readonly ready: () => void;
  readonly options: PrepareOptions;
}

/**
 * A request that flow control keeps waiting, with what the picker has to be asked for once it may
 * go on. It is new, then it waits, and then it is placed or gone; its stream is called back only where it
 * has waited, and never during the call in which it came.
 */
export class KeptRequest implements KeptRequestParts {
  readonly waiting: Waiting;
  readonly share: Share;
  readonly body: readonly Uint8Array[];
  readonly ready: () => void;
  readonly options: PrepareOptions;
  /** What it found when it began to wait. */
  place: FlowPlace | undefined;
  #state: 'new' | 'waits' | 'placed' | 'gone' = 'new';

  constructor({ waiting, share, body, ready, options }: KeptRequestParts) {
    this.waiting = waiting;
    this.share = share;
    this.body = body;
    this.ready = ready;
    this.options = options;
  }

  /** Whether the call in which it came is not over. */
  get isNew(): boolean {
    return this.#state === 'new';
  }

  get isPlaced(): boolean {
    return this.#state === 'placed';
  }

  /** The call in which it came ends without a placement or a refusal. */
  beginWaiting(place: FlowPlace | undefined): void {
    this.place = place;
    if (this.#state === 'new') this.#state = 'waits';
  }

  /** It may go on to the picker. */
  placed(): void {
    this.#state = 'placed';
  }

  /** It is refused, or its client is gone. */
  gone(): void {
    this.#state = 'gone';
  }
}
