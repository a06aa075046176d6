import type { Millis } from '../../src/framework/runtime.ts';
import { LinkedList } from './linked-list.ts';
import type { Sequence } from './sequence.ts';

/** Slots of the wheel of last steps. A sequence with more steps left is skipped once per turn. */
const WHEEL_STEPS = 1024;

/** The running sequences whose prompts are computed, as the scheduler sees them. */
export interface DecodingSequences {
  readonly count: number;
  /** Tokens in the KV cache over all members. */
  readonly contextTokens: number;
  /** Drafted tokens that a step verifies, over all members. */
  readonly draftTokens: number;
  /** Drafted tokens that the last completed step accepted. */
  readonly acceptedTokens: number;
  beginStep(): void;
  /** Tokens that a member computes in the current step. */
  tokensOf(sequence: Sequence): number;
  /** Adds a member from the next step on. The KV of exactly one token must be missing. */
  join(sequence: Sequence): void;
  /** Removes a member, with its counts settled. */
  leave(sequence: Sequence): void;
  has(sequence: Sequence): boolean;
  /** Updates a member's own counts to the last completed step. */
  settle(sequence: Sequence): void;
  /** Members whose next tokens may need a new block. Their counts are not settled. */
  readonly growing: LinkedList<Sequence>;
  /** Other members whose next token fills a block of known content; counts not settled. */
  readonly filling: LinkedList<Sequence>;
  /** Completes the step. `notify` and `takeEnded` follow. */
  advance(at: Millis): void;
  /** Calls `onToken` of the members that have it, for the step just completed. */
  notify(at: Millis): void;
  /** Removes the members whose last step was just completed, and visits them settled. */
  takeEnded(visit: (sequence: Sequence) => void): void;
}

/**
 * Sequences that get one token in every step. Because all advance alike, a step costs O(1) for all
 * of them: progress follows from the steps since a member joined. A step visits only members that
 * need a new block, have ended or have an `onToken`. Lists keep the running order.
 */
export class DecodeSet implements DecodingSequences {
  count = 0;
  contextTokens = 0;
  readonly draftTokens = 0;
  readonly acceptedTokens = 0;
  readonly #blockTokens: number;
  /** Index: the step, modulo block size, before which a member has filled its last block. */
  readonly #growing: LinkedList<Sequence>[] = [];
  /** Index: the step, modulo block size, in which a member fills a block of known content. */
  readonly #filling: LinkedList<Sequence>[] = [];
  /** Index: a member's last step, modulo `WHEEL_STEPS`. */
  readonly #ending: LinkedList<Sequence>[] = [];
  readonly #notified = new LinkedList<Sequence>();
  #step = 0;
  #steppedAt: Millis = 0;

  constructor(blockTokens: number) {
    this.#blockTokens = blockTokens;
  }

  beginStep(): void {}

  tokensOf(): number {
    return 1;
  }

  join(sequence: Sequence): void {
    const { computedTokens, generatedTokens, request, decodeLinks } = sequence;
    this.count += 1;
    this.contextTokens += computedTokens;
    sequence.settledStep = this.#step;
    sequence.lastStep = this.#step + (request.outputTokens - generatedTokens) - 1;
    const phase = modulo(this.#step - computedTokens, this.#blockTokens);
    decodeLinks.push(
      listAt(this.#growing, phase).append(sequence),
      listAt(this.#ending, sequence.lastStep % WHEEL_STEPS).append(sequence),
    );
    // Only with hashes for the answer: without them, no request can find the filled blocks.
    if (request.blockHashes.length > sequence.identifiedBlocks) {
      const before = modulo(phase - 1, this.#blockTokens);
      decodeLinks.push(listAt(this.#filling, before).append(sequence));
    }
    if (request.onToken !== undefined) decodeLinks.push(this.#notified.append(sequence));
  }

  leave(sequence: Sequence): void {
    this.settle(sequence);
    this.count -= 1;
    this.contextTokens -= sequence.computedTokens;
    sequence.leaveDecodeLists();
  }

  has(sequence: Sequence): boolean {
    return sequence.decodeLinks.length > 0;
  }

  settle(sequence: Sequence): void {
    const steps = this.#step - sequence.settledStep;
    if (steps === 0) return;
    sequence.settledStep = this.#step;
    sequence.decoded(steps, this.#steppedAt);
  }

  get growing(): LinkedList<Sequence> {
    return listAt(this.#growing, this.#step % this.#blockTokens);
  }

  get filling(): LinkedList<Sequence> {
    return listAt(this.#filling, this.#step % this.#blockTokens);
  }

  advance(at: Millis): void {
    this.#step += 1;
    this.#steppedAt = at;
    this.contextTokens += this.count;
  }

  notify(at: Millis): void {
    for (let link = this.#notified.first; link !== undefined; link = link.next) {
      const { item } = link;
      this.settle(item);
      item.request.onToken?.(item.generatedTokens, at);
    }
  }

  takeEnded(visit: (sequence: Sequence) => void): void {
    const ended = this.#step - 1;
    const list = listAt(this.#ending, ended % WHEEL_STEPS);
    for (let link = list.first; link !== undefined; link = link.next) {
      if (link.item.lastStep !== ended) continue;
      this.leave(link.item);
      visit(link.item);
    }
  }
}

/** Creates a list on first use: a process has hundreds of engines, most of them idle. */
function listAt(lists: LinkedList<Sequence>[], index: number): LinkedList<Sequence> {
  lists[index] ??= new LinkedList<Sequence>();
  return lists[index];
}

function modulo(value: number, by: number): number {
  return ((value % by) + by) % by;
}
