import type { Millis } from '../../src/framework/runtime.ts';
import { LinkedList } from './linked-list.ts';
import type { Sequence } from './sequence.ts';

/** Slots of the wheel of ends: a sequence further from its end than this is passed over once a turn. */
const WHEEL_STEPS = 1024;

/** Sequences that are through their prompts, as the scheduler steps them. */
export interface Decoding {
  readonly count: number;
  /** Tokens in the KV cache over all members. */
  readonly contextTokens: number;
  /** Verified in a step beside one of each member. */
  readonly draftTokens: number;
  /** Of these, in the step that ended last, such as became output. */
  readonly acceptedTokens: number;
  /** Before a step is planned. */
  beginStep(): void;
  /** What a member computes in the step at hand. */
  tokensOf(sequence: Sequence): number;
  /** From the next step on. It must lack exactly one token of KV and have at least one token to go. */
  join(sequence: Sequence): void;
  /** Leaves it settled. */
  leave(sequence: Sequence): void;
  has(sequence: Sequence): boolean;
  /** Brings a member's own counts up to the last step that has ended. */
  settle(sequence: Sequence): void;
  /** Those whose next tokens may need a new block, with counts not settled. */
  readonly growing: LinkedList<Sequence>;
  /** Others whose next token fills a block that others may then find, with counts not settled. */
  readonly filling: LinkedList<Sequence>;
  /** Ends the step. Then come `tell` and `takeEnded`. */
  advance(at: Millis): void;
  /** Tells those who listen of the step that has just ended. */
  tell(at: Millis): void;
  /** Takes out those for whom the step that has just ended was the last, and visits them settled. */
  takeEnded(visit: (sequence: Sequence) => void): void;
}

type Lists = (LinkedList<Sequence> | undefined)[];

/**
 * The sequences that get one token in every step. As all advance alike, a step costs O(1) for all of them together:
 * how far one has come follows from the steps since it joined, and only those are visited that need a new block, have
 * reached their end, or have somebody listening. Lists keep the order of joining, which is the running order.
 */
export class DecodeSet implements Decoding {
  count = 0;
  contextTokens = 0;
  readonly draftTokens = 0;
  readonly acceptedTokens = 0;
  readonly #blockTokens: number;
  /** By step modulo block size: who has filled its last block by then. */
  readonly #growing: Lists;
  /** By step modulo block size: who fills a block of known content in it. */
  readonly #filling: Lists;
  readonly #ending: Lists;
  readonly #listening = new LinkedList<Sequence>();
  /** The step being planned or run. */
  #step = 0;
  /** When the last one ended. */
  #steppedAt: Millis = 0;

  constructor(blockTokens: number) {
    this.#blockTokens = blockTokens;
    this.#growing = [];
    this.#filling = [];
    this.#ending = [];
  }

  beginStep(): void {}

  tokensOf(): number {
    return 1;
  }

  join(sequence: Sequence): void {
    const { computedTokens, generatedTokens, request } = sequence;
    this.count += 1;
    this.contextTokens += computedTokens;
    sequence.settledStep = this.#step;
    sequence.lastStep = this.#step + (request.outputTokens - generatedTokens) - 1;
    const phase = modulo(this.#step - computedTokens, this.#blockTokens);
    sequence.growthLink = this.#listOf(this.#growing, phase).append(sequence);
    // Only who has hashes for the answer too: others fill blocks that nobody will find.
    if (request.blockHashes.length > sequence.identifiedBlocks) {
      const before = modulo(phase - 1, this.#blockTokens);
      sequence.fillLink = this.#listOf(this.#filling, before).append(sequence);
    }
    sequence.endLink = this.#listOf(this.#ending, sequence.lastStep % WHEEL_STEPS).append(sequence);
    if (request.onToken !== undefined) sequence.listenLink = this.#listening.append(sequence);
  }

  leave(sequence: Sequence): void {
    this.settle(sequence);
    this.count -= 1;
    this.contextTokens -= sequence.computedTokens;
    sequence.growthLink?.leave();
    sequence.fillLink?.leave();
    sequence.endLink?.leave();
    sequence.listenLink?.leave();
    sequence.growthLink = undefined;
    sequence.fillLink = undefined;
    sequence.endLink = undefined;
    sequence.listenLink = undefined;
  }

  has(sequence: Sequence): boolean {
    return sequence.endLink !== undefined;
  }

  settle(sequence: Sequence): void {
    const steps = this.#step - sequence.settledStep;
    if (steps === 0) return;
    sequence.settledStep = this.#step;
    sequence.computedTokens += steps;
    sequence.targetTokens += steps;
    sequence.generatedTokens += steps;
    sequence.lastTokenAt = this.#steppedAt;
  }

  get growing(): LinkedList<Sequence> {
    return this.#listOf(this.#growing, this.#step % this.#blockTokens);
  }

  get filling(): LinkedList<Sequence> {
    return this.#listOf(this.#filling, this.#step % this.#blockTokens);
  }

  advance(at: Millis): void {
    this.#step += 1;
    this.#steppedAt = at;
    this.contextTokens += this.count;
  }

  tell(at: Millis): void {
    for (let link = this.#listening.first; link !== undefined; link = link.next) {
      const { item } = link;
      this.settle(item);
      item.request.onToken?.(item.generatedTokens, at);
    }
  }

  takeEnded(visit: (sequence: Sequence) => void): void {
    const ended = this.#step - 1;
    const list = this.#listOf(this.#ending, ended % WHEEL_STEPS);
    for (let link = list.first; link !== undefined; link = link.next) {
      if (link.item.lastStep !== ended) continue;
      this.leave(link.item);
      visit(link.item);
    }
  }

  /** Made when first used: a process holds hundreds of engines, most of them idle. */
  #listOf(lists: Lists, index: number): LinkedList<Sequence> {
    lists[index] ??= new LinkedList<Sequence>();
    return lists[index];
  }
}

function modulo(value: number, by: number): number {
  return ((value % by) + by) % by;
}
