import type { FairShares, Share } from '../../flow/fair-shares.ts';
import type { WaitingQueue } from '../../flow/waiting-queue.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { Millis } from '../../framework/runtime.ts';
import { type EndpointBacklog, NOTHING_PENDING } from '../capacity/endpoint-backlog.ts';
import type { EndpointPool } from '../pool/endpoint-pool.ts';
import { type HeldRequest, placeOf } from './held-request.ts';

export interface PendingBoundOptions {
  readonly pool: Pick<EndpointPool, 'snapshot'>;
  readonly backlog: EndpointBacklog;
  readonly queue: WaitingQueue<HeldRequest>;
  readonly shares: FairShares;
}

/** Says how many tokens of prompts may be pending where a request goes, for the sake of others. */
export class PendingBound {
  readonly #options: PendingBoundOptions;

  constructor(options: PendingBoundOptions) {
    this.#options = options;
  }

  /**
   * Fewer tokens of prompts must be pending where a request goes: none where its flow crowds out
   * another one, or is late there and may not share a step. Undefined for the usual two steps.
   */
  below(
    { priority }: InferenceRequest,
    { target, share }: Pick<HeldRequest, 'target' | 'share'>,
    at: Millis,
  ): number | undefined {
    const { backlog, queue } = this.#options;
    if (this.#crowds(share)) return NOTHING_PENDING;
    const lateness = queue.lateness(priority, placeOf(target), share, at);
    if (lateness === undefined) return undefined;
    if (target === undefined) return NOTHING_PENDING;
    const { endpoint, prefillTokens } = target.load;
    return backlog.pendingBelowForLate(endpoint, prefillTokens, lateness);
  }

  /** From so many pending tokens on, one flow crowds out the others of the pool. */
  readonly crowdedFrom = (): number => {
    const { pool, backlog } = this.#options;
    return backlog.crowdedFrom(pool.snapshot());
  };

  /**
   * Whether a flow that has got more than another one has filled the pool: the other needs room.
   */
  #crowds(share: Share): boolean {
    const { queue, shares } = this.#options;
    return queue.isFair && shares.crowds(share, this.crowdedFrom);
  }
}
