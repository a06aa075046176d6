import type { Clock, Millis } from '../../../framework/runtime.ts';
import type { StreamStats } from '../health/stream-stats.ts';
import { Replay, type ReplaySlots } from './replay.ts';

interface StreamSink {
  /** Takes the next batch in order. Returns false where the payload is not a batch. */
  apply(payload: Uint8Array): boolean;
  /**
   * Discards what was applied. What the next batches say is `complete` where they begin with the
   * publisher's first.
   */
  reset(knowledge: 'complete' | 'partial'): void;
}

interface EventStreamOptions {
  readonly clock: Clock;
  readonly sink: StreamSink;
  readonly stats: StreamStats;
  /** Asks the publisher for all batches from this number on; undefined without a replay socket. */
  readonly requestReplay: ((from: number) => void) | undefined;
  readonly replaySlots: ReplaySlots;
}

/** No replay is requested for this long after one that failed, or was of no use. */
const REPLAY_COOL_DOWN_MS = 30_000;

/** Batches held back during a replay: at most 100 s of engine steps of 10 ms, and 16 MiB. */
const HELD_BATCHES_MAX = 10_000;
const HELD_BYTES_MAX = 16 * 1024 * 1024;

/** The fingerprints kept: they distinguish a late batch from one of a restarted publisher. */
const FINGERPRINTS = 1024;

interface Batch {
  readonly sequence: number;
  readonly payload: Uint8Array;
}

/**
 * Puts one publisher's batches in order, each once. Fills gaps from the replay socket, or else
 * discards everything known; notices restarts. No sockets; time only from the clock.
 */
export class EventStream {
  readonly #options: EventStreamOptions;
  /** The number of the next batch; undefined before the first. */
  #next: number | undefined;
  readonly #fingerprints = new Uint32Array(FINGERPRINTS);
  #held: Batch[] = [];
  #heldBytes = 0;
  #replay: Replay | undefined;
  /** Whether the replay fills a gap, rather than follows a new connection. */
  #fillsGap = false;
  #noReplayBefore: Millis = Number.NEGATIVE_INFINITY;
  #closed = false;

  constructor(options: EventStreamOptions) {
    this.#options = options;
  }

  /** Messages held back. */
  get held(): number {
    return this.#held.length;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** For each new connection. Asks for what came before it; without replay, all is discarded. */
  connected(): void {
    if (this.#closed) return;
    if (this.#replay !== undefined) this.#beginAgain(this.#replay);
    else if (this.#mayReplay) this.#startReplay('from-start');
    else if (this.#next !== undefined) this.#giveUp(undefined);
  }

  message(sequence: number, payload: Uint8Array): void {
    if (this.#closed) return;
    if (this.#replay === undefined) this.#accept({ sequence, payload });
    else this.#hold({ sequence, payload });
  }

  replayed(sequence: number, payload: Uint8Array): void {
    const replay = this.#replay;
    if (replay === undefined || !replay.requested) return;
    replay.onBatch();
    // A publisher that has dropped its oldest batches sends only the rest.
    if (this.#next === undefined) this.#begin(sequence);
    const next = this.#next ?? 0;
    if (sequence < next) {
      // The last known batch is requested again, to check that it is still the same stream.
      if (sequence === next - 1 && !this.#isKnown(sequence, payload)) this.#restartReplay(replay);
      return;
    }
    replay.progressed = true;
    if (sequence > next) this.#discard();
    this.#apply({ sequence, payload });
  }

  /** Must be called when the publisher has sent all that it has. */
  replayEnded(): void {
    const replay = this.#replay;
    if (replay === undefined || !replay.requested) return;
    if (!replay.answered && (this.#next ?? 0) > 0) {
      // The publisher lacks even the last known batch, so it has restarted.
      this.#restartReplay(replay);
      return;
    }
    // Nothing was ever published, so nothing is cached.
    if (this.#next === undefined) this.#begin(0);
    const first = this.#held[0];
    if (first !== undefined && first.sequence > (this.#next ?? 0)) {
      replay.again();
      return;
    }
    if (this.#fillsGap) this.#options.stats.repairs += 1;
    this.#endReplay();
    // It came before the end of the answer, which lacks it: to ask again would never end.
    if (this.#held.some((batch) => this.#isOutOfOrder(batch))) this.#coolDown();
    this.#acceptHeld();
  }

  /** The batch that was applied last cannot be read: nothing known can be trusted. */
  batchFailed(): void {
    this.#options.stats.malformed += 1;
    this.#discard();
  }

  close(): void {
    this.#closed = true;
    this.#endReplay();
    this.#takeHeld();
  }

  get #mayReplay(): boolean {
    const { requestReplay, clock } = this.#options;
    return requestReplay !== undefined && clock.now() >= this.#noReplayBefore;
  }

  #accept(batch: Batch): void {
    const { stats } = this.#options;
    const { sequence, payload } = batch;
    if (this.#next === undefined) {
      if (sequence > 0 && this.#mayReplay) {
        this.#startReplay('from-start', batch);
        return;
      }
      this.#begin(sequence);
    }
    const next = this.#next ?? 0;
    if (sequence === next) this.#apply(batch);
    else if (sequence > next) {
      stats.gaps += 1;
      if (this.#mayReplay) this.#startReplay('gap', batch);
      else this.#giveUp(batch);
    } else if (this.#isKnown(sequence, payload)) stats.duplicates += 1;
    else {
      this.#restarted();
      this.#accept(batch);
    }
  }

  #apply({ sequence, payload }: Batch): void {
    this.#fingerprints[sequence % FINGERPRINTS] = fingerprint(payload);
    this.#next = sequence + 1;
    if (!this.#options.sink.apply(payload)) this.batchFailed();
  }

  #begin(next: number): void {
    this.#next = next;
    this.#options.sink.reset(next === 0 ? 'complete' : 'partial');
  }

  /** The publisher has restarted: it counts from 0 again. */
  #restarted(): void {
    this.#options.stats.restarts += 1;
    this.#fingerprints.fill(0);
    this.#next = undefined;
    this.#options.sink.reset('partial');
  }

  /** Batches are lost and cannot be had again, so what was known may be wrong. */
  #discard(): void {
    this.#options.stats.drops += 1;
    this.#options.sink.reset('partial');
  }

  /** Continues without the missing batches, from `batch` or from the first one held back. */
  #giveUp(batch: Batch | undefined): void {
    this.#discard();
    this.#endReplay();
    this.#next = batch?.sequence ?? this.#held[0]?.sequence;
    if (batch !== undefined) this.#accept(batch);
    this.#acceptHeld();
  }

  #hold(batch: Batch): void {
    this.#held.push(batch);
    this.#heldBytes += batch.payload.length;
    if (this.#held.length > HELD_BATCHES_MAX || this.#heldBytes > HELD_BYTES_MAX) {
      this.#failReplay();
    }
  }

  /** Passes on what was held back; another gap in it holds the rest back again. */
  #acceptHeld(): void {
    for (const { sequence, payload } of this.#takeHeld()) this.message(sequence, payload);
  }

  #takeHeld(): readonly Batch[] {
    const held = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    return held;
  }

  /** `first` is held back. */
  #startReplay(asked: 'from-start' | 'gap', first?: Batch): void {
    const { clock, replaySlots, requestReplay } = this.#options;
    this.#fillsGap = asked === 'gap';
    const replay = new Replay({
      clock,
      slots: replaySlots,
      request: () => requestReplay?.(Math.max(0, (this.#next ?? 0) - 1)),
      onFailed: () => this.#failReplay(),
    });
    this.#replay = replay;
    if (first !== undefined) this.#hold(first);
    // It is over if that was too much.
    if (this.#replay === replay) replay.start();
  }

  /** The answer shows that the publisher has restarted: everything is requested again. */
  #restartReplay(replay: Replay): void {
    this.#restarted();
    this.#beginAgain(replay);
  }

  /**
   * What is held back may be of a publisher that has restarted since. If it is not, it is in the
   * answer to this request.
   */
  #beginAgain(replay: Replay): void {
    this.#takeHeld();
    replay.start();
  }

  #failReplay(): void {
    this.#coolDown();
    this.#giveUp(undefined);
  }

  #coolDown(): void {
    this.#noReplayBefore = this.#options.clock.now() + REPLAY_COOL_DOWN_MS;
  }

  #endReplay(): void {
    this.#replay?.end();
    this.#replay = undefined;
  }

  #isOutOfOrder({ sequence, payload }: Batch): boolean {
    return sequence < (this.#next ?? 0) && !this.#isKnown(sequence, payload);
  }

  #isKnown(sequence: number, payload: Uint8Array): boolean {
    const next = this.#next ?? 0;
    if (next - sequence > FINGERPRINTS) return false;
    return this.#fingerprints[sequence % FINGERPRINTS] === fingerprint(payload);
  }
}

/** FNV-1a over the first 64 bytes, which begin with the time, and the last 64. Never 0. */
function fingerprint(payload: Uint8Array): number {
  let hash = 0x811c9dc5 ^ payload.length;
  for (let at = 0; at < payload.length; at++) {
    if (at === 64) at = Math.max(at, payload.length - 64);
    hash = Math.imul(hash ^ (payload[at] as number), 0x01000193);
  }
  return hash >>> 0 || 1;
}
