import type { KvAsked } from '../pd/kv-contract.ts';

/** A tool the model may call. */
export interface ToolSpec {
  readonly name: string;
  /** JSON Schema of the arguments. */
  readonly parameters: unknown;
}

/** What both generating APIs ask for beside the prompt, which is long and not looked at again. */
export interface GenerationTerms {
  readonly api: 'chat' | 'completions';
  readonly model: string;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  /** Answers to each prompt. */
  readonly n: number;
  readonly outputTokensMax: number | undefined;
  readonly outputTokensMin: number;
  readonly ignoreEos: boolean;
  readonly stop: readonly string[];
  /** Alternatives to tell of each token; undefined tells nothing, 0 the token alone. */
  readonly logprobs: number | undefined;
  /** The client's own; undefined leaves it to the server's. */
  readonly seed: number | undefined;
  readonly priority: number;
  readonly cacheSalt: string;
  /** Tools it may call; none when it must not. */
  readonly tools: readonly ToolSpec[];
  /** It must call one of `tools`. */
  readonly mustCallTool: boolean;
  readonly kv: KvAsked;
  /** Below this share of the prompt in the cache nothing is generated; undefined or 0 generates always. */
  readonly cacheHitThreshold: number | undefined;
}

/** All of it, read from a body. */
export interface GenerationRequest extends GenerationTerms {
  /** Rendered, in token ids; the chat API has one. */
  readonly prompts: readonly Int32Array[];
}
