import type { Millis } from './runtime.ts';

/**
 * A prompt as prefix caches see it: chained block hashes. Hash i stands for blocks 0 to i, so two
 * prompts share their first n blocks exactly when they share hash n-1. The seed contains the model,
 * the LoRA adapter and the cache salt.
 */
export interface PromptBlocks {
  /** Full blocks only. */
  readonly count: number;
  readonly blockTokens: number;
  /** 64 bits for each block: block i is words 2i (low) and 2i+1 (high). At least 2 × count long. */
  readonly words: Uint32Array;
  /** `words` has one block more, the rest of the prompt behind its last full block. */
  readonly hasRest?: true;
  /**
   * The blocks of the texts behind the first, where a request has several: each with hashes from
   * the seed on, as engines keep them. None of these has others.
   */
  readonly others?: readonly PromptBlocks[];
}

/**
 * Prompts without token ids are hashed in blocks of so many tokens, the reference's smallest block
 * under auto-tuning.
 */
export const HASHED_BLOCK_TOKENS = 64;

/** The fairness id of a request that has none. */
export const DEFAULT_FLOW = 'default-flow';

/** A rule or a header chose the model, even if it is the model that the client named. */
export interface ModelRewrite {
  /** The name that the client gave; empty where it gave none. */
  readonly requestedModel: string;
  /** The InferenceModelRewrite that chose the model; undefined where a header did. */
  readonly rule: string | undefined;
}

/** A client's request, read from its body once and never changed. */
export interface InferenceRequest {
  /** Unique in the process. It is not the client's `x-request-id`, which two clients may share. */
  readonly id: string;
  /** The model name that the server gets, possibly a LoRA adapter's; empty for opaque bodies. */
  readonly model: string;
  /** Undefined where the model is simply the one that the client named. */
  readonly rewrite?: ModelRewrite | undefined;
  readonly streaming: boolean;
  /** The client's limit on generated tokens. */
  readonly outputTokensMax: number | undefined;
  /** Estimated from bytes, unless the body contains token ids. */
  readonly promptTokens: number;
  readonly prompt: PromptBlocks;
  /** The number of images, videos and sounds in the prompt; left out where there are none. */
  readonly mediaItems?: number;
  /**
   * What the body says about the length of its answer; left out where it says nothing, or nothing
   * counts by it.
   */
  readonly answerLength?: 'short' | 'long' | undefined;
  readonly priority: number;
  readonly fairnessId: string;
  readonly objective: string | undefined;
  readonly ttftSloMs: Millis | undefined;
  readonly tpotSloMs: Millis | undefined;
  /** Lower-case names. A repeated header has its last value. */
  readonly headers: ReadonlyMap<string, string>;
  readonly bodyBytes: number;
}

/** The fields by which metrics distinguish requests. */
export type RequestLabels = Pick<InferenceRequest, 'model' | 'rewrite' | 'fairnessId' | 'priority'>;

/** Texts of one request that have blocks of their own, as many as OpenAI's API takes. */
export const TEXTS_MAX = 2048;

/** The blocks of each text of a request. */
export function textsOf(prompt: PromptBlocks): readonly PromptBlocks[] {
  return prompt.others === undefined ? [prompt] : [prompt, ...prompt.others];
}

/** Full blocks of all texts together. */
export function blockCount({ count, others }: PromptBlocks): number {
  return others === undefined ? count : others.reduce((sum, text) => sum + text.count, count);
}

export const NO_BLOCKS: PromptBlocks = {
  count: 0,
  blockTokens: HASHED_BLOCK_TOKENS,
  words: new Uint32Array(0),
};
