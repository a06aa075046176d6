/** Longer than any engine's sentence about it; a longer error repeats what the client sent. */
const ERROR_BYTES_MAX = 2048;

/**
 * How engines begin the message by which they refuse a request as too long: vLLM by its versions,
 * then SGLang. The beginning alone counts, because what follows may repeat what the client sent.
 */
const MESSAGES: readonly RegExp[] = [
  /^This model's maximum context length is (\d+) tokens/,
  /^You passed \d+ input \w+ and requested \d+ output tokens\. However, the model's context length is only (\d+)/,
  /^'max_tokens' or 'max_completion_tokens' is too large: \d+\. This model's maximum context length is (\d+) tokens/,
  /^The decoder prompt \(length \d+\) is longer than the maximum model length of (\d+)/,
  /^The input \(\d+ tokens\) is longer than the model's context length \((\d+) tokens\)/,
  /^Requested token count exceeds the model's maximum context length of (\d+) tokens/,
];

/** Reads in the error that refuses a request how many tokens the engine takes. */
export class RefusedWindow {
  readonly #chunks: Buffer[] = [];
  #bytes = 0;

  push(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > ERROR_BYTES_MAX) this.#chunks.length = 0;
    else this.#chunks.push(Buffer.from(chunk));
  }

  /** Undefined where the request was refused for another reason. */
  end(): number | undefined {
    const message = messageOf(Buffer.concat(this.#chunks).toString('utf8'));
    if (message === undefined) return undefined;
    for (const pattern of MESSAGES) {
      const tokens = Number(pattern.exec(message)?.[1]);
      if (tokens > 0 && Number.isSafeInteger(tokens)) return tokens;
    }
    return undefined;
  }
}

/** The message in `{"error": {"message": …}}`, or in the `{"message": …}` of older servers. */
function messageOf(text: string): string | undefined {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    return undefined;
  }
  const { error, message } = (answer ?? {}) as { error?: { message?: unknown }; message?: unknown };
  const found = error?.message ?? message;
  return typeof found === 'string' ? found : undefined;
}
