import type { Millis } from '../../src/framework/runtime.ts';
import type { StepLoad } from './latency-model.ts';
import type { Sequence } from './sequence.ts';

/** The work of one step. The scheduler has one plan and rewrites it for each step. */
export class StepPlan implements StepLoad {
  prefillTokens = 0;
  prefillSequences = 0;
  decodeSequences = 0;
  contextTokens = 0;
  attendedSquares = 0;
  draftTokens = 0;
  acceptedTokens = 0;
  loadMs: Millis = 0;
  /** Sequences with a prompt chunk in this step. */
  readonly #chunks: Sequence[] = [];
  /** By the index in `#chunks`. */
  readonly #chunkTokens: number[] = [];

  /** Empties the plan but for the decoding sequences, which are set when the plan is complete. */
  reset(): void {
    this.prefillTokens = 0;
    this.prefillSequences = 0;
    this.attendedSquares = 0;
    this.loadMs = 0;
    this.#chunkTokens.length = 0;
    this.dropChunks();
  }

  /** Adds a chunk of `tokens` tokens after those that the sequence has computed. */
  addChunk(sequence: Sequence, tokens: number): void {
    this.#chunks.push(sequence);
    this.#chunkTokens.push(tokens);
    this.#count(sequence, tokens, 1);
  }

  /** Removes the chunk of a preempted sequence, if it has one. */
  removeChunk(sequence: Sequence): void {
    const index = this.#chunks.indexOf(sequence);
    if (index < 0) return;
    const [tokens = 0] = this.#chunkTokens.splice(index, 1);
    this.#chunks.splice(index, 1);
    this.#count(sequence, tokens, -1);
  }

  /** Drops the chunks without changing the counts: a crash ends the step. */
  dropChunks(): void {
    this.#chunks.length = 0;
  }

  /** Visits the chunks of sequences that have not finished meanwhile. */
  forEachChunk(visit: (sequence: Sequence, tokens: number) => void): void {
    for (let index = 0; index < this.#chunks.length; index++) {
      const sequence = this.#chunks[index] as Sequence;
      if (!sequence.finished) visit(sequence, this.#chunkTokens[index] as number);
    }
  }

  #count({ computedTokens: before }: Sequence, tokens: number, sign: 1 | -1): void {
    const after = before + tokens;
    this.prefillTokens += sign * tokens;
    this.prefillSequences += sign;
    this.attendedSquares += sign * (after * after - before * before);
  }
}
