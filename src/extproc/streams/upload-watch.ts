import { RoutingError } from '../../framework/error.ts';
import type { Clock, Millis, Timer } from '../../framework/runtime.ts';
import type { OpenStreams } from './open-streams.ts';
import type { StreamAccount } from './stream-account.ts';

export interface UploadLimits {
  /** A body is refused once nothing of it has come for so long; 0 waits for ever. */
  readonly uploadIdleTimeoutMs: Millis;
  /** A body that has not ended so long after its stream opened is refused; 0 waits for ever. */
  readonly uploadTimeoutMs: Millis;
}

/** Each look passes over all streams: 0.4 ms for 40,000 of them. */
const LOOK_INTERVAL_MS = 1000;
/**
 * A proxy closes a refused stream at once. A stream that is still open after this time is reset.
 */
const REFUSED_STREAM_MS = 10_000;

/**
 * Ends uploads that do not come to an end, and frees memory that uploads no longer need: once a
 * second, until `stop`.
 */
export class UploadWatch {
  readonly #streams: OpenStreams;
  readonly #limits: UploadLimits;
  readonly #clock: Clock;
  #timer: Timer;

  constructor(streams: OpenStreams, limits: UploadLimits, clock: Clock) {
    this.#streams = streams;
    this.#limits = limits;
    this.#clock = clock;
    this.#timer = this.#wait();
  }

  stop(): void {
    this.#timer.cancel();
  }

  #wait(): Timer {
    const dueAt = this.#clock.now() + LOOK_INTERVAL_MS;
    return this.#clock.setTimer(LOOK_INTERVAL_MS, () => {
      const now = this.#clock.now();
      const lateMs = now - dueAt;
      // What came while this process stood still is read after this look.
      const stoodMs = lateMs < LOOK_INTERVAL_MS ? 0 : lateMs;
      this.#streams.forEachNewest((account) => this.#check(account, now, stoodMs));
      // Other threads may have taken their part of the budget since anything came here.
      this.#streams.keepBudget();
      this.#streams.blocks.trim();
      this.#timer = this.#wait();
    });
  }

  #check(account: StreamAccount, now: Millis, stoodMs: Millis): void {
    const { owner, openedAt, receivedBytes } = account;
    const { phase } = owner;
    if (phase === 'picked' || phase === 'answering' || phase === 'waiting') return;
    if (phase === 'refused') {
      account.refusedAt ??= now;
      if (now - account.refusedAt >= REFUSED_STREAM_MS) owner.reset();
      return;
    }
    account.stoodMs += stoodMs;
    const { at, bytes } = account.progress;
    if (receivedBytes !== bytes) account.progress = { at: now, bytes: receivedBytes };
    else if (stoodMs > 0) account.progress = { at: Math.min(now, at + stoodMs), bytes };
    const { uploadIdleTimeoutMs: idleMs, uploadTimeoutMs: totalMs } = this.#limits;
    if (phase === 'uploading' && idleMs > 0 && now - account.progress.at >= idleMs) {
      owner.refuse(tooSlow(`no byte of it has come for ${idleMs} ms`));
    } else if (totalMs > 0 && now - openedAt - account.stoodMs >= totalMs) {
      owner.refuse(tooSlow(`it has not ended after ${totalMs} ms`));
    }
  }
}

function tooSlow(how: string): RoutingError {
  return new RoutingError('upload-timeout', `the request body is too slow: ${how}`);
}
