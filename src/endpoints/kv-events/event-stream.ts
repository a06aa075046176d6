import type { Clock, Millis, Timer } from '../../framework/runtime.ts';
import type { StreamStats } from './stream-stats.ts';

/** What a stream does with what it hears. */
export interface StreamSink {
  /** The next batch in order. False when it is no batch. */
  apply(payload: Uint8Array): boolean;
  /** All applied so far is void. `complete`: what comes now begins at the publisher's own beginning. */
  reset(complete: boolean): void;
}

export interface EventStreamOptions {
  readonly clock: Clock;
  readonly sink: StreamSink;
  readonly stats: StreamStats;
  /** Asks the publisher for all batches from this number on; undefined where it has no replay socket. */
  readonly requestReplay: ((from: number) => void) | undefined;
  /** Shared by all streams: how many replays may be under way. */
  readonly replaySlots: ReplaySlots;
}

/** Bounds the replays under way at once, so that a network that comes back is not met by all of them together. */
export class ReplaySlots {
  #free: number;

  constructor(slots: number) {
    this.#free = slots;
  }

  take(): boolean {
    if (this.#free === 0) return false;
    this.#free -= 1;
    return true;
  }

  give(): void {
    this.#free += 1;
  }
}

/** The reference's figures. */
const REPLAY_IDLE_MS = 2000;
const REPLAY_TOTAL_MS = 120_000;
const REPLAY_BACK_OFF_MS = 100;
const REPLAY_COOL_DOWN_MS = 30_000;
const REPLAY_ATTEMPTS_MAX = 3;
export const REPLAYS_AT_ONCE = 8;

/** Batches held back while a gap is repaired: a minute and a half of steps of 10 ms, and 16 MiB. */
const HELD_BATCHES_MAX = 10_000;
const HELD_BYTES_MAX = 16 * 1024 * 1024;

/** Numbers whose batch is remembered by a fingerprint, to tell a late one from a publisher that began anew. */
const FINGERPRINTS = 1024;

interface Batch {
  readonly sequence: number;
  readonly payload: Uint8Array;
}

interface Repair {
  readonly startedAt: Millis;
  /** Whether a slot is held, so that the publisher has been asked. */
  asked: boolean;
  attempts: number;
  /** Anything has come since it was last asked. */
  answered: boolean;
  /** Anything new has come since it was last asked. */
  progressed: boolean;
  /** A number was missing: not the first contact, nor a connection made again. */
  readonly gap: boolean;
  timer: Timer | undefined;
}

/**
 * One publisher's batches put in order: passed on once each, gaps repaired from its replay socket or all knowledge given
 * up, a new beginning noticed. No sockets; time only through the clock.
 */
export class EventStream {
  readonly #options: EventStreamOptions;
  /** The number to come; undefined before the first. */
  #next: number | undefined;
  readonly #fingerprints = new Uint32Array(FINGERPRINTS);
  #held: Batch[] = [];
  #heldBytes = 0;
  #repair: Repair | undefined;
  #noReplayBefore: Millis = Number.NEGATIVE_INFINITY;
  #closed = false;

  constructor(options: EventStreamOptions) {
    this.#options = options;
  }

  /** Bytes held back until a gap is closed. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /**
   * A connection was made. What was said before or between is asked for; without a replay socket nothing that was known
   * before a break can be trusted after it.
   */
  connected(): void {
    if (this.#closed || this.#repair !== undefined) return;
    if (this.#mayReplay) this.#beginRepair(false);
    else if (this.#next !== undefined) this.#giveUp(undefined);
  }

  message(sequence: number, payload: Uint8Array): void {
    if (this.#closed) return;
    if (this.#repair === undefined) this.#accept({ sequence, payload });
    else this.#hold({ sequence, payload });
  }

  replayed(sequence: number, payload: Uint8Array): void {
    const repair = this.#repair;
    if (repair === undefined || !repair.asked) return;
    repair.answered = true;
    this.#arm(repair, REPLAY_IDLE_MS, () => this.#again());
    // Of a publisher that has dropped its oldest batches only the rest is to be had.
    if (this.#next === undefined) this.#begin(sequence, sequence === 0);
    const next = this.#next ?? 0;
    if (sequence < next) {
      // The last one we have is asked for again, to see that it is still the same stream.
      if (sequence === next - 1 && !this.#isKnown(sequence, payload)) this.#restartRepair(repair);
      return;
    }
    repair.progressed = true;
    if (sequence > next) this.#lose();
    this.#apply({ sequence, payload });
  }

  /** The publisher has sent all it has. */
  replayEnded(): void {
    const repair = this.#repair;
    if (repair === undefined || !repair.asked) return;
    if (!repair.answered && (this.#next ?? 0) > 0) {
      // Not even the last one we have: it has not said as much in this life.
      this.#restartRepair(repair);
      return;
    }
    // Nothing was ever said, so nothing is cached.
    if (this.#next === undefined) this.#begin(0, true);
    const first = this.#held[0];
    if (first !== undefined && first.sequence > (this.#next ?? 0)) {
      this.#again();
      return;
    }
    if (repair.gap) this.#options.stats.repairs += 1;
    this.#endRepair();
    this.#drain();
  }

  close(): void {
    this.#closed = true;
    this.#endRepair();
    this.#held = [];
    this.#heldBytes = 0;
  }

  get #mayReplay(): boolean {
    const { requestReplay, clock } = this.#options;
    return requestReplay !== undefined && clock.now() >= this.#noReplayBefore;
  }

  #accept(batch: Batch): void {
    const { stats } = this.#options;
    const { sequence, payload } = batch;
    if (this.#next === undefined) {
      if (sequence === 0) this.#begin(0, true);
      else if (this.#mayReplay) {
        this.#beginRepair(false);
        this.#hold(batch);
        return;
      } else this.#begin(sequence, false);
    }
    const next = this.#next ?? 0;
    if (sequence === next) this.#apply(batch);
    else if (sequence > next) {
      stats.gaps += 1;
      this.#meetGap(batch);
    } else if (this.#isKnown(sequence, payload)) stats.duplicates += 1;
    else {
      this.#restarted();
      this.#accept(batch);
    }
  }

  #meetGap(batch: Batch): void {
    if (!this.#mayReplay) {
      this.#giveUp(batch);
      return;
    }
    this.#beginRepair(true);
    this.#hold(batch);
  }

  #apply({ sequence, payload }: Batch): void {
    this.#fingerprints[sequence % FINGERPRINTS] = fingerprint(payload);
    this.#next = sequence + 1;
    if (this.#options.sink.apply(payload)) return;
    this.#options.stats.malformed += 1;
    this.#lose();
  }

  #begin(next: number, complete: boolean): void {
    this.#next = next;
    this.#options.sink.reset(complete);
  }

  /** Another life of the publisher: it counts from 0 again. */
  #restarted(): void {
    this.#options.stats.restarts += 1;
    this.#fingerprints.fill(0);
    this.#next = undefined;
    this.#options.sink.reset(false);
  }

  /** Batches are gone for good. */
  #lose(): void {
    this.#options.stats.drops += 1;
    this.#options.sink.reset(false);
  }

  /** Without a replay, or after one that failed: goes on from what there is. */
  #giveUp(batch: Batch | undefined): void {
    this.#lose();
    this.#endRepair();
    this.#next = batch?.sequence ?? this.#held[0]?.sequence;
    if (batch !== undefined) this.#accept(batch);
    this.#drain();
  }

  #hold(batch: Batch): void {
    this.#held.push(batch);
    this.#heldBytes += batch.payload.length;
    if (this.#held.length > HELD_BATCHES_MAX || this.#heldBytes > HELD_BYTES_MAX) {
      this.#failRepair();
    }
  }

  /** Feeds what was held back; another gap in it holds the rest back again. */
  #drain(): void {
    const held = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    for (const batch of held) this.message(batch.sequence, batch.payload);
  }

  #beginRepair(gap: boolean): void {
    const repair: Repair = {
      startedAt: this.#options.clock.now(),
      gap,
      asked: false,
      attempts: 0,
      answered: false,
      progressed: false,
      timer: undefined,
    };
    this.#repair = repair;
    this.#ask(repair);
  }

  /** The replay has shown another life: all of it is asked for. */
  #restartRepair(repair: Repair): void {
    this.#restarted();
    repair.attempts = 0;
    this.#ask(repair);
  }

  #ask(repair: Repair): void {
    const { clock, requestReplay, replaySlots } = this.#options;
    if (clock.now() - repair.startedAt >= REPLAY_TOTAL_MS) {
      this.#failRepair();
      return;
    }
    if (!repair.asked && !replaySlots.take()) {
      this.#arm(repair, REPLAY_BACK_OFF_MS, () => this.#ask(repair));
      return;
    }
    repair.asked = true;
    repair.answered = false;
    repair.progressed = false;
    repair.attempts += 1;
    this.#arm(repair, REPLAY_IDLE_MS, () => this.#again());
    requestReplay?.(Math.max(0, (this.#next ?? 0) - 1));
  }

  /** Asks once more, later; not for ever without progress. */
  #again(): void {
    const repair = this.#repair;
    if (repair === undefined) return;
    if (repair.progressed) repair.attempts = 0;
    if (repair.attempts >= REPLAY_ATTEMPTS_MAX) this.#failRepair();
    else this.#arm(repair, REPLAY_BACK_OFF_MS, () => this.#ask(repair));
  }

  #failRepair(): void {
    this.#noReplayBefore = this.#options.clock.now() + REPLAY_COOL_DOWN_MS;
    this.#giveUp(undefined);
  }

  #endRepair(): void {
    this.#repair?.timer?.cancel();
    if (this.#repair?.asked === true) this.#options.replaySlots.give();
    this.#repair = undefined;
  }

  #arm(repair: Repair, delayMs: Millis, then: () => void): void {
    repair.timer?.cancel();
    repair.timer = this.#options.clock.setTimer(delayMs, then);
  }

  #isKnown(sequence: number, payload: Uint8Array): boolean {
    const next = this.#next ?? 0;
    if (next - sequence > FINGERPRINTS) return false;
    return this.#fingerprints[sequence % FINGERPRINTS] === fingerprint(payload);
  }
}

/** Never 0, which stands for none. A batch carries its time in its first bytes, so its head tells it from others. */
function fingerprint(payload: Uint8Array): number {
  let hash = 0x811c9dc5 ^ payload.length;
  const bytes = Math.min(payload.length, 64);
  for (let at = 0; at < bytes; at++) hash = Math.imul(hash ^ (payload[at] as number), 0x01000193);
  const tail = Math.max(bytes, payload.length - 64);
  for (let at = tail; at < payload.length; at++)
    hash = Math.imul(hash ^ (payload[at] as number), 0x01000193);
  return hash >>> 0 || 1;
}
