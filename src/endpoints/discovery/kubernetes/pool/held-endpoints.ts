import type { EndpointId } from '../../../../framework/endpoint.ts';
import type { Clock, Millis, Timer } from '../../../../framework/runtime.ts';
import type { EndpointSink, EndpointSpec } from '../../../../picker/pool/endpoint-pool.ts';
import { type Rate, TokenBucket } from '../../../../runtime/clock/token-bucket.ts';

/** Ten times the largest pool that is measured: a decision looks at each of them. */
export const CLUSTER_ENDPOINTS_MAX = 10_000;

/**
 * A pool that is new takes all endpoints that it has within this time: nothing is served yet that
 * they could hold up.
 */
const START_MS: Millis = 5000;
/** So many come at once, and as many as there were at some time: whatever left can come back. */
export const AT_ONCE_MIN = 256;
/** At least so many come in a second: one takes about a millisecond, with connection and page. */
export const A_SECOND_MIN = 50;
/**
 * In a large pool it is this share of what comes at once, so that it can be exchanged again soon.
 */
const A_SECOND_SHARE = 1 / 20;
/** Endpoints that wait are looked at so often. */
const STEP_MS: Millis = 100;
/** Endpoints that wait for so long are reported. */
const LATE_MS: Millis = 10_000;

/** Why endpoints wait: there are too many, or too many have come in too short a time. */
export type WaitReason = 'full' | 'pace';

interface HeldEndpointsOptions {
  readonly pool: EndpointSink;
  readonly clock: Clock;
  /**
   * Called when the first has to wait, or waits for another reason, and when none does any more.
   */
  readonly onWaiting?: (why: WaitReason | undefined) => void;
  readonly max?: number;
}

/**
 * Holds endpoints back from a pool until `release`, and then passes every change on. Those beyond a
 * bound wait until others leave, so that none that serves has to go for a new one. Those that come,
 * or come back, again and again wait for their turn: a user of the cluster can make thousands.
 * An endpoint that leaves is removed at once.
 */
export class HeldEndpoints implements EndpointSink {
  readonly #pool: EndpointSink;
  readonly #clock: Clock;
  readonly #onWaiting: (why: WaitReason | undefined) => void;
  readonly #max: number;
  #released = false;
  #waiting: WaitReason | undefined;
  readonly #passed = new Set<EndpointId>();
  readonly #held = new Map<EndpointId, EndpointSpec>();
  /** When the first one passed. */
  #beganAt: Millis | undefined;
  /** The most there have been. */
  #peak = 0;
  readonly #bucket: TokenBucket;
  #waitsSince: Millis | undefined;
  #timer: Timer | undefined;

  constructor({
    pool,
    clock,
    onWaiting = () => undefined,
    max = CLUSTER_ENDPOINTS_MAX,
  }: HeldEndpointsOptions) {
    this.#pool = pool;
    this.#clock = clock;
    this.#onWaiting = onWaiting;
    this.#max = max;
    this.#bucket = new TokenBucket(clock, rateOf(0));
  }

  upsert(spec: EndpointSpec): void {
    if (this.#passed.has(spec.id)) {
      this.#pool.upsert(spec);
      return;
    }
    this.#held.set(spec.id, spec);
    this.#fill();
  }

  remove(id: EndpointId): void {
    if (this.#passed.delete(id)) this.#pool.remove(id);
    else this.#held.delete(id);
    this.#fill();
  }

  release(): void {
    this.#released = true;
    this.#fill();
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #fill(): void {
    if (!this.#released) return;
    for (const [id, spec] of this.#held) {
      if (this.#passed.size >= this.#max || !this.#mayPass()) break;
      this.#held.delete(id);
      this.#passed.add(id);
      this.#peak = Math.max(this.#peak, this.#passed.size);
      this.#pool.upsert(spec);
    }
    if (this.#held.size > 0) this.#timer ??= this.#clock.setTimer(STEP_MS, this.#step);
    this.#noteWaiting();
  }

  readonly #step = (): void => {
    this.#timer = undefined;
    this.#fill();
  };

  #mayPass(): boolean {
    const now = this.#clock.now();
    this.#beganAt ??= now;
    this.#bucket.setRate(rateOf(this.#peak));
    if (now - this.#beganAt >= START_MS) return this.#bucket.take();
    this.#bucket.refill();
    return true;
  }

  #noteWaiting(): void {
    const why = this.#whyWaiting();
    if (why === this.#waiting) return;
    this.#waiting = why;
    this.#onWaiting(why);
  }

  #whyWaiting(): WaitReason | undefined {
    if (this.#held.size === 0) {
      this.#waitsSince = undefined;
      return undefined;
    }
    if (this.#passed.size >= this.#max) return 'full';
    this.#waitsSince ??= this.#clock.now();
    return this.#clock.now() - this.#waitsSince >= LATE_MS ? 'pace' : undefined;
  }
}

/** What may come into a pool that has had so many endpoints at some time. */
function rateOf(peak: number): Rate {
  const atOnce = Math.max(AT_ONCE_MIN, peak);
  return { perSecond: Math.max(A_SECOND_MIN, atOnce * A_SECOND_SHARE), atOnce };
}
