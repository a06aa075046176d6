import type { PromptBlocks } from '../../framework/request.ts';
import type { KeyedHash } from '../../framework/values/keyed-hash.ts';
import { extendChain } from '../prompts/block-chain.ts';
import { type ContentBlocks } from '../prompts/content-blocks.ts';
import type { AnswerKeys } from '../prompts/request-shape.ts';

/** Longest part of an answer that is hashed, many times a real one; its hashes take 32 KB. */
const ANSWER_BYTES_MAX = 1024 * 1024;

const OPENING: Uint8Array = new TextEncoder().encode('assistant\n');
const SEPARATOR: Uint8Array = Uint8Array.of(0x0a);

interface AnswerBlocksParts {
  readonly prompt: PromptBlocks;
  readonly run: ContentBlocks;
  readonly root: string;
  readonly hash: KeyedHash;
  readonly keys: AnswerKeys;
}

/**
 * Hashes an answer behind its prompt while it arrives, as the next turn's body will contain it.
 * Text is hashed with its JSON escapes: where client and server escape differently, the next turn
 * matches the prompt's blocks only.
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

  /** Where the answer has its text. */
  get keys(): AnswerKeys {
    return this.#parts.keys;
  }

  /** Hashes the next piece of text; keeps no reference to it. */
  push(text: Uint8Array): void {
    this.#bytes += text.length;
    if (this.#bytes <= ANSWER_BYTES_MAX) this.#run.push(text);
  }

  /** Prompt and answer as one chain; undefined if the answer fills no block. */
  end(): PromptBlocks | undefined {
    if (this.#bytes === 0) return undefined;
    if (this.#bytes <= ANSWER_BYTES_MAX) this.#run.push(SEPARATOR);
    return this.#run.count === 0
      ? undefined
      : extendChain(this.#parts.prompt, this.#run, this.#parts);
  }
}
