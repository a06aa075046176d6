import type { Usage } from '../../framework/observer.ts';
import type { UsageReader } from './usage-reader.ts';

/** Size of the answer's end that is kept: the usage object is there. */
const TAIL_BYTES = 8 * 1024;
const DONE = '[DONE]';
/**
 * What the last events of OpenAI's, Anthropic's, SGLang's and Vertex AI's streams say, errors
 * included. The last event of a long `/v1/responses` begins before the bytes that are kept, and
 * says `status` near its end. Quotes in generated text are escaped.
 */
const SAYS_END =
  /"(?:finish_reason|finishReason|stop_reason)"\s*:\s*["{]|"message_stop"|"type"\s*:\s*"[\w.]+\.(?:completed|done|incomplete|failed)"|"status"\s*:\s*"(?:completed|incomplete|failed)"|"error"/;

/**
 * Keeps the end of a response and reads its token usage at the end. Copies the bytes, as a view of
 * a small chunk would keep a large read in memory.
 */
export class UsageTail implements UsageReader {
  readonly #key: string;
  readonly #saysEnd: boolean;
  #ring: Buffer | undefined;
  #bytes = 0;

  /** `key`: of the object that has the counts. `saysEnd`: streams of the API say when they are whole. */
  constructor(key = 'usage', saysEnd = false) {
    this.#key = key;
    this.#saysEnd = saysEnd;
  }

  push(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.#ring ??= Buffer.allocUnsafeSlow(TAIL_BYTES);
    const kept = chunk.length > TAIL_BYTES ? chunk.subarray(-TAIL_BYTES) : chunk;
    const start = (this.#bytes + chunk.length - kept.length) % TAIL_BYTES;
    const fitting = Math.min(kept.length, TAIL_BYTES - start);
    kept.copy(this.#ring, start, 0, fitting);
    kept.copy(this.#ring, 0, fitting);
    this.#bytes += chunk.length;
  }

  lacksEnd(): boolean {
    const ring = this.#ring;
    if (!this.#saysEnd) return false;
    if (ring === undefined) return true;
    // Nearly all streams: without a copy. What is beyond the bytes that came was never written.
    const last = Math.min(this.#bytes, TAIL_BYTES) - DONE.length;
    if (last >= 0 && ring.lastIndexOf(DONE, last, 'latin1') >= 0) return false;
    const text = this.#text();
    return !text.includes(DONE) && !SAYS_END.test(text);
  }

  /** Reads the counts of the last usage object, in OpenAI's or Anthropic's names, and resets. */
  take(): Usage | undefined {
    const text = this.#text();
    this.#ring = undefined;
    this.#bytes = 0;
    return usageIn(text, `"${this.#key}"`);
  }

  #text(): string {
    if (this.#ring === undefined) return '';
    const end = this.#bytes % TAIL_BYTES;
    if (this.#bytes <= TAIL_BYTES) return this.#ring.toString('latin1', 0, this.#bytes);
    return this.#ring.toString('latin1', end) + this.#ring.toString('latin1', 0, end);
  }
}

/** Anthropic's first event counts the prompt, its last the answer: earlier objects count, too. */
function usageIn(text: string, key: string): Usage | undefined {
  let completionTokens: number | undefined;
  let cachedTokens: number | undefined;
  for (
    let at = text.lastIndexOf(key);
    at >= 0;
    at = at === 0 ? -1 : text.lastIndexOf(key, at - 1)
  ) {
    const counts = countsOf(objectAt(text, at + key.length));
    completionTokens ??= counts?.completionTokens;
    cachedTokens ??= counts?.cachedTokens;
    if (completionTokens !== undefined && counts?.promptTokens !== undefined) {
      return { promptTokens: counts.promptTokens, completionTokens, cachedTokens };
    }
  }
  return undefined;
}

/** Parses the JSON object behind a key; undefined if it is no object or is cut short. */
function objectAt(text: string, afterKey: number): Record<string, unknown> | undefined {
  const start = text.indexOf('{', afterKey);
  if (start < 0 || text.slice(afterKey, start).replace(/[\s:]/g, '') !== '') return undefined;
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const character = text[at];
    if (character === '{') depth += 1;
    if (character === '}' && --depth === 0) return parsed(text.slice(start, at + 1));
  }
  return undefined;
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    // Generated text that looks like a usage object.
    return undefined;
  }
}

function countsOf(
  object: Record<string, unknown> | undefined,
): { readonly [Count in keyof Usage]: number | undefined } | undefined {
  if (object === undefined) return undefined;
  const details = object['prompt_tokens_details'] ?? object['input_tokens_details'];
  return {
    promptTokens: count(object['prompt_tokens'] ?? object['input_tokens']),
    completionTokens: count(object['completion_tokens'] ?? object['output_tokens']),
    cachedTokens:
      count((details as Record<string, unknown> | null | undefined)?.['cached_tokens']) ??
      count(object['cache_read_input_tokens'] ?? object['cached_tokens']),
  };
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
