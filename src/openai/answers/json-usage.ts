import type { Usage } from '../../framework/observer.ts';
import { saysServerFailed } from './reported-error.ts';
import type { UsageReader } from './usage-reader.ts';

/** Bytes of an answer that are looked at together. */
const WINDOW_BYTES = 8 * 1024;
/** Bytes that leave the window together. What begins in them and has counts ends in the rest. */
const LEAVING_BYTES = WINDOW_BYTES / 4;
const LINE_FEED = 0x0a;
const DONE = '[DONE]';
/** What answers that say an error have, one of them. */
const ERROR_HINTS = ['"error"', 'event: error', 'event:error'];
/**
 * What the last events of OpenAI's, Anthropic's, SGLang's and Vertex AI's streams say, errors
 * included. Quotes in generated text are escaped.
 */
const SAYS_END =
  /"(?:finish_reason|finishReason|stop_reason)"\s*:\s*["{]|"message_stop"|"type"\s*:\s*"[\w.]+\.(?:completed|done|incomplete|failed)"|"status"\s*:\s*"(?:completed|incomplete|failed)"|"error"/;
/**
 * Types of last events that have the whole answer in them, and may say so at their beginning only.
 */
const LONG_LAST_EVENT =
  /"type"\s*:\s*"(?:response\.(?:completed|incomplete|failed)|image_\w+\.completed)"/;
/** What the beginnings of such events have and pieces of answers have not. */
const LAST_EVENT_HINTS = ['mplete', 'failed"'];

/** The name of the object that has the counts of OpenAI's completions, without its first quote. */
const OPENAI_KEY = 'usage"';

/** What stands between a key and its value. */
const BETWEEN = ': \t\r\n';

/** Answers are objects, lists or texts. */
const JSON_ENDS = ['}', ']', '"'];

type Counts = {
  -readonly [Count in 'promptTokens' | 'completionTokens' | 'cachedTokens']: number | undefined;
};
/** Counts of one object, by the names that it has for them. */
type NamedCounts = Counts & { readonly isOpenAi: boolean };

/**
 * Finds the token counts of a JSON answer or of a stream of JSON events, wherever they stand.
 * Copies the bytes, as a view of a small chunk would keep a large read in memory.
 */
export class JsonUsage implements UsageReader {
  /**
   * Without its first quote: there are many quotes, and the search stops at each first character.
   */
  readonly #key: string;
  readonly #saysEnd: boolean;
  #window: Buffer | undefined;
  #length = 0;
  /** The last counts of what has left the window. */
  #counts: Counts = noCounts();
  #longLastEvent = false;
  /** Whether the last counts were in the names of OpenAI's completions. */
  #isOpenAi = false;

  /**
   * `key`: of the object that has the counts. `saysEnd`: streams of the API say when they are
   * whole.
   */
  constructor(key = 'usage', saysEnd = false) {
    this.#key = `${key}"`;
    this.#saysEnd = saysEnd;
  }

  push(chunk: Buffer): void {
    this.#window ??= Buffer.allocUnsafeSlow(WINDOW_BYTES);
    for (let from = 0; from < chunk.length; ) {
      if (this.#length === WINDOW_BYTES) this.#advance(this.#window);
      const copied = chunk.copy(this.#window, this.#length, from);
      this.#length += copied;
      from += copied;
    }
  }

  hasFailed(of: 'events' | 'json'): boolean {
    if (!this.#saysEnd) return false;
    // Few answers have the word; no string is made for the others.
    const mayFail = ERROR_HINTS.some((hint) => this.#has(hint, this.#length));
    return (mayFail && saysServerFailed(this.#text(), of)) || this.#lacksEnd(of);
  }

  #lacksEnd(of: 'events' | 'json'): boolean {
    if (of === 'json') return !JSON_ENDS.includes(this.#lastCharacter());
    if (this.#longLastEvent && this.#endsLine()) return false;
    // Nearly all streams end so; no string is made for them.
    if (this.#has(DONE, this.#length)) return false;
    return !SAYS_END.test(this.#text());
  }

  /** Whether the last event has come whole: a line feed ends it. */
  #endsLine(): boolean {
    return this.#length > 0 && this.#window?.[this.#length - 1] === LINE_FEED;
  }

  /** The last one that is no white space; a line feed where there is none. */
  #lastCharacter(): string {
    let at = this.#length - 1;
    while (at > 0 && BETWEEN.includes(String.fromCharCode(this.#window?.[at] ?? 0))) at -= 1;
    return String.fromCharCode(this.#window?.[at] ?? LINE_FEED);
  }

  /** The last counts in OpenAI's or Anthropic's names, and resets. */
  take(): Usage | undefined {
    this.#count(this.#length);
    const { promptTokens, completionTokens, cachedTokens } = this.#counts;
    this.#window = undefined;
    this.#length = 0;
    this.#counts = noCounts();
    this.#longLastEvent = false;
    const isOpenAi = this.#isOpenAi;
    this.#isOpenAi = false;
    if (promptTokens === undefined && completionTokens === undefined) return undefined;
    // Embeddings have no answer to count, and some servers leave out what is zero.
    const usage = {
      promptTokens: promptTokens ?? 0,
      completionTokens: completionTokens ?? 0,
      cachedTokens,
    };
    // vLLM and SGLang do so in completions. Elsewhere they always count, or never.
    const leavesOutZero = isOpenAi && this.#key === OPENAI_KEY && usage.completionTokens > 0;
    return leavesOutZero ? { ...usage, leavesOutZero } : usage;
  }

  #advance(window: Buffer): void {
    this.#count(LEAVING_BYTES);
    if (this.#saysEnd && LAST_EVENT_HINTS.some((hint) => this.#has(hint, LEAVING_BYTES))) {
      this.#longLastEvent ||= LONG_LAST_EVENT.test(this.#text());
    }
    window.copyWithin(0, LEAVING_BYTES);
    this.#length = WINDOW_BYTES - LEAVING_BYTES;
  }

  /** Reads the objects whose keys begin, with their first quote, before `end`. */
  #count(end: number): void {
    if (!this.#has(this.#key, end + 1)) return;
    const found = countsIn(this.#text(), this.#key, end);
    const counts = this.#counts;
    counts.promptTokens = found.promptTokens ?? counts.promptTokens;
    counts.completionTokens = found.completionTokens ?? counts.completionTokens;
    counts.cachedTokens = found.cachedTokens ?? counts.cachedTokens;
    if (found.promptTokens !== undefined) this.#isOpenAi = found.isOpenAi;
  }

  /**
   * Whether this text begins before `end`. Behind the bytes that came is what was never written.
   */
  #has(text: string, end: number): boolean {
    const searched = Math.min(this.#length, end + text.length - 1);
    return this.#window?.subarray(0, searched).includes(text, 0, 'latin1') === true;
  }

  #text(): string {
    return this.#window?.toString('latin1', 0, this.#length) ?? '';
  }
}

function noCounts(): Counts {
  return { promptTokens: undefined, completionTokens: undefined, cachedTokens: undefined };
}

/** Anthropic's first event counts the prompt, its last the answer: earlier objects count, too. */
function countsIn(text: string, key: string, end: number): NamedCounts {
  const found = { ...noCounts(), isOpenAi: false };
  for (let at = text.lastIndexOf(key, end); at > 0; at = text.lastIndexOf(key, at - 1)) {
    const counts = text[at - 1] === '"' ? countsOf(objectAt(text, at + key.length)) : undefined;
    if (counts === undefined) continue;
    found.promptTokens ??= counts.promptTokens;
    found.completionTokens ??= counts.completionTokens;
    found.cachedTokens ??= counts.cachedTokens;
    found.isOpenAi ||= counts.isOpenAi;
    if (found.promptTokens !== undefined && found.completionTokens !== undefined) break;
  }
  return found;
}

/** Parses the JSON object behind a key; undefined if it is no object or is cut short. */
function objectAt(text: string, afterKey: number): Record<string, unknown> | undefined {
  let start = afterKey;
  while (start < text.length && BETWEEN.includes(text.charAt(start))) start += 1;
  if (text[start] !== '{') return undefined;
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

function countsOf(object: Record<string, unknown> | undefined): NamedCounts | undefined {
  if (object === undefined) return undefined;
  const details = object['prompt_tokens_details'] ?? object['input_tokens_details'];
  return {
    promptTokens: count(object['prompt_tokens'] ?? object['input_tokens']),
    completionTokens: count(object['completion_tokens'] ?? object['output_tokens']),
    cachedTokens:
      count((details as Record<string, unknown> | null | undefined)?.['cached_tokens']) ??
      count(object['cache_read_input_tokens'] ?? object['cached_tokens']),
    isOpenAi: object['prompt_tokens'] !== undefined,
  };
}

/** Some servers write counts as texts. */
function count(value: unknown): number | undefined {
  const given = typeof value === 'string' && value !== '' ? Number(value) : value;
  if (typeof given !== 'number' || !(given >= 0)) return undefined;
  return given <= Number.MAX_SAFE_INTEGER ? Math.trunc(given) : undefined;
}
