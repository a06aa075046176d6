import type { Millis } from './runtime.ts';

/**
 * A prompt as the prefix caches see it: chained block hashes. Hash i stands for blocks 0 to i, so two prompts
 * share their first n blocks exactly when they share hash n-1. The model, LoRA adapter and cache salt are in the seed.
 */
export interface PromptBlocks {
  /** Full blocks only. */
  readonly count: number;
  readonly blockTokens: number;
  /** 64 bits a block: block i is words 2i (low) and 2i+1 (high). At least 2 × count long. */
  readonly words: Uint32Array;
}

/** The fairness id of those who name none. */
export const DEFAULT_FLOW = 'default-flow';

/** That somebody has decided which model serves, be it the one that the client named. */
export interface ModelRewrite {
  /** As the client named it; empty where it named none. */
  readonly requestedModel: string;
  /** The InferenceModelRewrite that said so; undefined where a header did. */
  readonly rule: string | undefined;
}

/** A client's request, read out of its body once and then only looked at. */
export interface InferenceRequest {
  /** Ours, unique in the process; never the client's `x-request-id`, which two clients may share. */
  readonly id: string;
  /** As the model server is asked for it, a LoRA adapter's name included; empty when the body is opaque. */
  readonly model: string;
  /** Undefined where it is simply the one that the client named. */
  readonly rewrite?: ModelRewrite | undefined;
  readonly streaming: boolean;
  /** The client's cap on generated tokens. */
  readonly outputTokensMax: number | undefined;
  /** Estimated from bytes unless the body carried token ids. */
  readonly promptTokens: number;
  readonly prompt: PromptBlocks;
  /** Images, video and sound in the prompt; left out where there are none. */
  readonly mediaItems?: number;
  readonly priority: number;
  readonly fairnessId: string;
  readonly objective: string | undefined;
  readonly ttftSloMs: Millis | undefined;
  readonly tpotSloMs: Millis | undefined;
  /** Lower-case names; of a repeated header the last value. */
  readonly headers: ReadonlyMap<string, string>;
  readonly bodyBytes: number;
}

export const NO_BLOCKS: PromptBlocks = { count: 0, blockTokens: 64, words: new Uint32Array(0) };
