export type FinishReason = 'length' | 'stop' | 'abort';

export interface SequenceUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cachedTokens: number;
}

/** One request to generate, by size alone: what the tokens are plays no part in how long they take. */
export interface SequenceRequest {
  readonly promptTokens: number;
  /** A key for each full block of the prompt, chained: equal keys stand for equal text from the start. */
  readonly blockKeys: readonly number[];
  readonly outputTokens: number;
  readonly lora?: string | undefined;
  /** Called after each step that gave this sequence a token. `at` in model time. */
  readonly onToken?: (count: number, at: number) => void;
  readonly onDone?: (reason: FinishReason, usage: SequenceUsage, at: number) => void;
}

/** A request inside the engine. Only the engine changes it. */
export interface Sequence {
  readonly request: SequenceRequest;
  readonly arrivedAt: number;
  /** Prompt (and, after preemption, already generated) tokens whose KV is there. */
  computedTokens: number;
  /** What must be computed before the next token can come. */
  targetTokens: number;
  generatedTokens: number;
  cachedTokens: number;
  /** Keys of the cached blocks held, in chain order. */
  heldKeys: number[];
  /** Blocks held without identity. */
  anonymousBlocks: number;
  scheduledAt: number | undefined;
  firstTokenAt: number | undefined;
  lastTokenAt: number | undefined;
  finished: boolean;
}
