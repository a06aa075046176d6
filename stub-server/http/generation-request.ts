import type { KvFields } from '../pd/kv-contract.ts';

/** A tool the model may call. */
export interface ToolSpec {
  readonly name: string;
  /** JSON Schema of the arguments. */
  readonly parameters: unknown;
}

/** A request of a generating API without its prompts, which are long and not needed again. */
export interface GenerationTerms {
  readonly api: 'chat' | 'completions';
  readonly model: string;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  /** Number of answers per prompt. */
  readonly n: number;
  readonly outputTokensMax: number | undefined;
  readonly outputTokensMin: number;
  readonly ignoreEos: boolean;
  readonly stop: readonly string[];
  /** Number of alternatives reported per token; 0: the token only; undefined: no logprobs. */
  readonly logprobs: number | undefined;
  /** The client's seed; undefined: the server's. */
  readonly seed: number | undefined;
  readonly priority: number;
  readonly cacheSalt: string;
  /** Tools that the model can call. */
  readonly tools: readonly ToolSpec[];
  /** Whether the model must call one of `tools`. */
  readonly mustCallTool: boolean;
  readonly kv: KvFields;
  /** Nothing is generated if a smaller share of the prompt is cached; 0 by default. */
  readonly cacheHitThreshold: number | undefined;
}

/** A request of a generating API. */
export interface GenerationRequest extends GenerationTerms {
  /** Token ids of the rendered prompts; the chat API has one. */
  readonly prompts: readonly Int32Array[];
}
