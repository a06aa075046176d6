import type { Millis } from '../../src/framework/runtime.ts';
import { DecodeSet, type DecodingSequences } from './decode-set.ts';
import { comesBefore, type QueuePolicy } from './engine-queue.ts';
import { LinkedList } from './linked-list.ts';
import type { LoraSlots } from './lora-slots.ts';
import type { Sequence } from './sequence.ts';
import type { Speculation } from './speculation.ts';
import { SpeculativeDecodeSet } from './speculative-decode-set.ts';

export interface RunningBatchOptions {
  readonly policy: QueuePolicy;
  readonly loras: LoraSlots;
  readonly speculation: Speculation | undefined;
}

/**
 * The running sequences, in order of admission. All but the newest have computed their prompts: an
 * incomplete chunk uses up the budget of its step. So the decoding ones can be kept as a set.
 */
export class RunningBatch {
  readonly decoding: DecodingSequences;
  /** Sequences with prompt left to compute. */
  readonly prefilling: Sequence[] = [];
  readonly #sequences = new LinkedList<Sequence>();
  readonly #policy: QueuePolicy;
  readonly #loras: LoraSlots;

  constructor(blockTokens: number, { policy, loras, speculation }: RunningBatchOptions) {
    this.#policy = policy;
    this.#loras = loras;
    this.decoding =
      speculation === undefined
        ? new DecodeSet(blockTokens)
        : new SpeculativeDecodeSet(speculation);
  }

  get size(): number {
    return this.#sequences.size;
  }

  [Symbol.iterator](): Iterator<Sequence> {
    return this.#sequences[Symbol.iterator]();
  }

  /** Adds a sequence with prompt left to compute. Returns the time to load its adapter. */
  add(sequence: Sequence): Millis {
    sequence.runningLink = this.#sequences.append(sequence);
    this.prefilling.push(sequence);
    return this.#loras.join(sequence.request.lora);
  }

  /** Moves a sequence whose prompt is complete to the decoding ones. */
  decode(sequence: Sequence): void {
    this.#leavePrefilling(sequence);
    this.decoding.join(sequence);
  }

  /** Does nothing for a sequence that does not run. */
  remove(sequence: Sequence): void {
    if (sequence.runningLink === undefined) return;
    sequence.runningLink.leave();
    sequence.runningLink = undefined;
    this.#loras.leave(sequence.request.lora);
    if (this.decoding.has(sequence)) this.decoding.leave(sequence);
    else this.#leavePrefilling(sequence);
  }

  /** The sequence to preempt first: the last one, or the least urgent one. */
  get victim(): Sequence | undefined {
    if (this.#policy === 'fcfs') return this.#sequences.last?.item;
    let worst: Sequence | undefined;
    for (const sequence of this.#sequences) {
      if (worst === undefined || !comesBefore(sequence, worst)) worst = sequence;
    }
    return worst;
  }

  #leavePrefilling(sequence: Sequence): void {
    const index = this.prefilling.indexOf(sequence);
    if (index >= 0) this.prefilling.splice(index, 1);
  }
}
