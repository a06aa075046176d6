/** One piece of code that gets bytes from outside, and what it promises for all bytes. */
export interface FuzzTarget {
  readonly name: string;
  /** Its share of the cases, less than 1 where a case takes long; 1 by default. */
  readonly weight?: number;
  /** Longer inputs are cut. */
  readonly inputBytesMax?: number;
  /** Valid inputs, which mutations start from. */
  readonly seeds: readonly Uint8Array[];
  /**
   * `json`: inputs are JSON texts, and mostly their values are changed, so that few are refused for
   * their syntax. `bytes` by default.
   */
  readonly form?: 'bytes' | 'json';
  /** Words of the format, which mutations insert. */
  readonly words: readonly string[];
  /**
   * Throws if the code breaks a promise on this input. Returns what became of the input, in few
   * words: an input with a new outcome is mutated further.
   */
  run(input: Uint8Array): string;
}

/** Describes an error that the code may throw; throws any other again. */
export function expected(
  error: unknown,
  ...kinds: readonly (new (
    ...args: never[]
  ) => Error)[]
): string {
  if (!(error instanceof Error) || !kinds.some((kind) => error instanceof kind)) throw error;
  // Names and numbers differ from input to input; the sentence around them is the outcome.
  const sentence = error.message.replace(/"[^"]*"|'[^']*'|[0-9]+|\S+:\S+|[^ -~]+/g, '*');
  return `${error.name}: ${sentence.slice(0, 60)}`;
}

/** Throws with a message unless it holds. */
export function promise(holds: boolean, what: () => string): void {
  if (!holds) throw new Error(`broken promise: ${what()}`);
}

export const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
