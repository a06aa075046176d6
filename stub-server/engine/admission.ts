import type { Millis } from '../../src/framework/runtime.ts';
import type { EngineObserver } from './engine-observer.ts';
import { EngineQueue, type QueuePolicy } from './engine-queue.ts';
import type { KvCache } from './kv-cache/kv-cache.ts';
import type { LoraSlots } from './lora-slots.ts';
import type { FinishReason, Sequence } from './sequence.ts';

interface AdmissionOptions {
  readonly policy: QueuePolicy;
  readonly kv: KvCache;
  readonly loras: LoraSlots;
  readonly observer: EngineObserver;
  /** Begins the transfer of `tokens` tokens of KV; `arrived` or `leave` must follow. */
  readonly receive: (sequence: Sequence, tokens: number) => void;
  /** Whether KV is here at once when all of it is cached; otherwise `receive` gets 0 tokens. */
  readonly skipsEmptyTransfers: boolean;
}

/**
 * The sequences that do not run, for each kind of engine: they wait for memory, or hold memory and
 * wait for KV from elsewhere. Gives memory to them in their order, and takes it back.
 */
export class Admission {
  readonly waiting: EngineQueue;
  /**
   * Those whose remote KV is here. They hold memory, and so they go before the queue: a preempted
   * sequence at its head may need the memory that one of them gives back only after it has run.
   */
  readonly #ready: EngineQueue;
  readonly #options: AdmissionOptions;
  /** Sequences whose remote KV is on its way. They hold memory and are not in the queue. */
  readonly #receiving = new Set<Sequence>();

  constructor(options: AdmissionOptions) {
    this.#options = options;
    this.waiting = new EngineQueue(options.policy);
    this.#ready = new EngineQueue(options.policy);
  }

  /** Sequences that wait to be admitted or for remote KV. */
  get count(): number {
    return this.#ready.length + this.waiting.length + this.#receiving.size;
  }

  /** Visits those that wait for memory, a place or an adapter. */
  forEachWaiting(visit: (sequence: Sequence) => void): void {
    this.#ready.forEach(visit);
    this.waiting.forEach(visit);
  }

  /**
   * Starts waiting sequences, first in line first, while there is memory and `room()`, the tokens
   * that one may compute now, is above 0. `start` gets how many it has memory for.
   */
  admit(room: () => number, start: (sequence: Sequence, tokens: number) => void): void {
    this.#admitFrom(this.#ready, room, start);
    this.#admitFrom(this.waiting, room, start);
  }

  isReceiving(sequence: Sequence): boolean {
    return this.#receiving.has(sequence);
  }

  /** Puts a sequence whose remote KV is here first in line, unless it has ended meanwhile. */
  arrived(sequence: Sequence): void {
    if (!this.#receiving.delete(sequence)) return;
    sequence.remoteKv = 'here';
    this.#options.kv.arrived(sequence, sequence.tokensWithRemote);
    this.#ready.pushBack(sequence);
  }

  /** Takes the memory of a sequence that has just stopped running, and puts it first in line. */
  preempt(sequence: Sequence, at: Millis): void {
    this.#options.kv.preempt(sequence);
    sequence.remoteKv = 'none';
    sequence.preemptions += 1;
    this.#options.observer.onPreempted(sequence, at);
    this.waiting.pushBack(sequence);
  }

  /** Removes a sequence that does not run. `end` follows. */
  leave(sequence: Sequence): void {
    if (this.#receiving.delete(sequence)) return;
    this.#ready.remove(sequence);
    this.waiting.remove(sequence);
  }

  /** Ends a sequence that neither runs nor waits. It may keep its blocks after a good end. */
  end(sequence: Sequence, reason: FinishReason, at: Millis): void {
    const { kv, observer } = this.#options;
    sequence.finished = true;
    const keeps =
      sequence.request.holdBlocks === true && (reason === 'stop' || reason === 'length');
    if (!keeps) kv.release(sequence);
    observer.onFinished(sequence, reason, at);
  }

  /** Removes all sequences and returns them. `end` follows for each. */
  takeAll(): readonly Sequence[] {
    const all = [...this.#ready.takeAll(), ...this.waiting.takeAll(), ...this.#receiving];
    this.#receiving.clear();
    return all;
  }

  #admitFrom(
    queue: EngineQueue,
    room: () => number,
    start: (sequence: Sequence, tokens: number) => void,
  ): void {
    const { kv, loras } = this.#options;
    let index = 0;
    for (let budget = room(); budget > 0; budget = room()) {
      const sequence = queue.at(index);
      if (sequence === undefined) return;
      if (!loras.admits(sequence.request.lora)) index += 1;
      else if (kv.chooseRemote(sequence)) {
        if (!this.#beginRemote(sequence, index)) return;
      } else {
        const tokens = this.#takeMemory(sequence, budget);
        if (tokens === 0) return;
        queue.removeAt(index);
        start(sequence, tokens);
      }
    }
  }

  /** Takes memory for the first chunk and returns its tokens; 0 without enough memory. */
  #takeMemory(sequence: Sequence, budget: number): number {
    const { kv } = this.#options;
    if (sequence.remoteKv !== 'here') return kv.admit(sequence, budget);
    const tokens = Math.min(sequence.targetTokens - sequence.computedTokens, budget);
    return kv.extend(sequence, tokens) ? tokens : 0;
  }

  /** Takes memory for remote KV and starts its transfer. Returns false without enough memory. */
  #beginRemote(sequence: Sequence, index: number): boolean {
    const missing = this.#options.kv.admitRemote(sequence, sequence.tokensWithRemote);
    if (missing === undefined) return false;
    if (Number.isNaN(sequence.scheduledAt)) sequence.remoteTokens = missing;
    if (missing === 0 && this.#options.skipsEmptyTransfers) {
      sequence.remoteKv = 'here';
      return true;
    }
    sequence.remoteKv = 'coming';
    this.waiting.removeAt(index);
    this.#receiving.add(sequence);
    this.#options.receive(sequence, missing);
    return true;
  }
}
