import { z } from 'zod';
import { EventLines } from './event-lines.ts';

/** What the server has counted, by the usage that it reports. */
export interface CountedTokens {
  readonly promptTokens: number;
  readonly outputTokens: number;
  /** Undefined if the server does not report it. */
  readonly cachedTokens: number | undefined;
}

const count = z.number().nonnegative();
const usage = z.object({
  prompt_tokens: count,
  completion_tokens: count.nullish(),
  prompt_tokens_details: z.object({ cached_tokens: count.nullish() }).nullish(),
});
const delta = z.object({
  content: z.string().nullish(),
  reasoning_content: z.string().nullish(),
  tool_calls: z.array(z.unknown()).nullish(),
});
const chunk = z.object({
  choices: z.array(z.object({ text: z.string().nullish(), delta: delta.nullish() })).nullish(),
  usage: usage.nullish(),
  error: z.unknown().optional(),
});

/** Quotes inside an answer's text are escaped, so these match only the chunk's own keys. */
const USAGE = Buffer.from('"usage":');
const NULL = 0x6e;
const ERROR = Buffer.from('"error":');
const DONE = Buffer.from('[DONE]');
const ERROR_CHARS_MAX = 200;

/** Reads one streamed answer of either API. Keeps the counts and not the text. */
export class AnswerReader {
  /** How many chunks carried tokens. */
  chunks = 0;
  counted: CountedTokens | undefined;
  /** The error that the server reported in the stream, as JSON. */
  failure: string | undefined;
  done = false;
  readonly #lines = new EventLines((data) => this.#event(data));

  /** Returns how many tokens came with these bytes. Throws if they are not such an answer. */
  push(bytes: Buffer): number {
    const before = this.chunks;
    this.#lines.push(bytes);
    return this.chunks - before;
  }

  #event(data: Buffer): void {
    if (data.equals(DONE)) this.done = true;
    // After the first token only other events are parsed, because there are thousands of streams.
    else if (this.chunks > 0 && !hasUsage(data) && !data.includes(ERROR)) this.chunks += 1;
    else this.#read(data);
  }

  #read(data: Buffer): void {
    const { choices, usage: used, error } = chunk.parse(JSON.parse(data.toString('utf8')));
    if (error !== undefined && error !== null) {
      this.failure = JSON.stringify(error).slice(0, ERROR_CHARS_MAX);
      return;
    }
    if (used !== undefined && used !== null) {
      this.counted = {
        promptTokens: used.prompt_tokens,
        outputTokens: used.completion_tokens ?? this.chunks,
        cachedTokens: used.prompt_tokens_details?.cached_tokens ?? undefined,
      };
    }
    const [choice] = choices ?? [];
    if (choice === undefined) return;
    // A chat begins with the speaker's role, which is not a token. The text of a completion may be
    // empty, because a token can be a part of a character.
    const { text, delta: message } = choice;
    const hasContent = (message?.content ?? message?.reasoning_content ?? '') !== '';
    if (typeof text === 'string' || hasContent || (message?.tool_calls ?? []).length > 0) {
      this.chunks += 1;
    }
  }
}

function hasUsage(data: Buffer): boolean {
  const at = data.indexOf(USAGE);
  return at >= 0 && data[at + USAGE.length] !== NULL && data[at + USAGE.length + 1] !== NULL;
}
