import type { PromptBlocks } from '../framework/request.ts';
import { type ContentBlocks, extendChain } from './content-blocks.ts';

/** Of a longer answer nothing is learned from here on: a model's longest are a fraction of it. Bounds one to 32 KB. */
const ANSWER_BYTES_MAX = 1024 * 1024;

const OPENING: Uint8Array = new TextEncoder().encode('assistant\n');
const SEPARATOR: Uint8Array = Uint8Array.of(0x0a);

export interface AnswerBlocksParts {
  readonly prompt: PromptBlocks;
  /** The run of text that the answer continues, at the prompt's end. */
  readonly run: ContentBlocks;
  readonly root: string;
  readonly seed: number;
}

/**
 * Hashes an answer behind its prompt while it comes, as the next turn's body will have it: an assistant's message after
 * the messages that were sent. The text is the answer's as it stands in JSON, escapes and all, as prompts are hashed too:
 * a client that escapes otherwise than its server has other blocks, and finds only the prompt again.
 */
export class AnswerBlocks {
  readonly #parts: AnswerBlocksParts;
  readonly #run: ContentBlocks;
  #bytes = 0;

  constructor(parts: AnswerBlocksParts) {
    this.#parts = parts;
    this.#run = parts.run.continuation();
    this.#run.push(OPENING);
  }

  /** The next piece of the text. Kept nowhere. */
  push(text: Uint8Array): void {
    this.#bytes += text.length;
    if (this.#bytes <= ANSWER_BYTES_MAX) this.#run.push(text);
  }

  /** Prompt and answer as one chain; undefined where the answer fills no block. */
  end(): PromptBlocks | undefined {
    if (this.#bytes === 0) return undefined;
    if (this.#bytes <= ANSWER_BYTES_MAX) this.#run.push(SEPARATOR);
    return this.#run.count === 0
      ? undefined
      : extendChain(this.#parts.prompt, this.#run, this.#parts);
  }
}
