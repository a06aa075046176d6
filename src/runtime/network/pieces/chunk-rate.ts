import type { Clock, Millis } from '../../../framework/runtime.ts';
import { TokenBucket } from '../../clock/token-bucket.ts';

/** Each costs about 1.6 µs, however few bytes it has: together a sixth of a core. */
const CHUNKS = { perSecond: 100_000, atOnce: 25_000 };
const AGAIN_MS: Millis = 20;

/** How many chunks of bodies are read in a second, of all that share this. */
export class ChunkRate {
  readonly #clock: Clock;
  readonly #bucket: TokenBucket;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#bucket = new TokenBucket(clock, CHUNKS);
  }

  /** Takes room for so many more chunks and returns true; false where there is none now. */
  take(chunks: number): boolean {
    return this.#bucket.take(Math.min(chunks, CHUNKS.atOnce));
  }

  /** Calls `then` once there is room for so many more, and takes it. */
  whenRoom(chunks: number, then: () => void): void {
    if (this.take(chunks)) then();
    else this.#clock.setTimer(AGAIN_MS, () => this.whenRoom(chunks, then));
  }
}
