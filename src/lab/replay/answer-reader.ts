import { z } from 'zod';
import { EventLines } from './event-lines.ts';

/** What the server says it has counted; undefined where it does not. */
export interface CountedTokens {
  readonly promptTokens: number;
  readonly outputTokens: number;
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

/** Inside an answer's text each quote stands behind a backslash, so these are the chunk's own. */
const USAGE = Buffer.from('"usage":');
const NULL = 0x6e;
const ERROR = Buffer.from('"error":');
const DONE = Buffer.from('[DONE]');
const ERROR_CHARS_MAX = 200;

/** One streamed answer of either API. Keeps no text: only what came, and what the server counted. */
export class AnswerReader {
  /** Chunks with tokens. */
  chunks = 0;
  counted: CountedTokens | undefined;
  /** What the server said in place of going on. */
  failure: string | undefined;
  done = false;
  readonly #lines = new EventLines((data) => this.#event(data));

  /** Whether tokens came with it. Throws on what is no such answer. */
  push(bytes: Buffer): boolean {
    const before = this.chunks;
    this.#lines.push(bytes);
    return this.chunks > before;
  }

  #event(data: Buffer): void {
    if (data.equals(DONE)) this.done = true;
    // Once tokens come only what is not one is worth a look: there are thousands of streams.
    else if (this.chunks > 0 && !hasUsage(data) && !data.includes(ERROR)) this.chunks += 1;
    else this.#read(data);
  }

  #read(data: Buffer): void {
    const { choices, usage: said, error } = chunk.parse(JSON.parse(data.toString('utf8')));
    if (error !== undefined && error !== null) {
      this.failure = JSON.stringify(error).slice(0, ERROR_CHARS_MAX);
      return;
    }
    if (said !== undefined && said !== null) {
      this.counted = {
        promptTokens: said.prompt_tokens,
        outputTokens: said.completion_tokens ?? this.chunks,
        cachedTokens: said.prompt_tokens_details?.cached_tokens ?? undefined,
      };
    }
    // A chat begins with the speaker's role, which is no token. A token of a completion may be no whole character yet.
    const [choice] = choices ?? [];
    if (choice === undefined) return;
    const { text, delta: said2 } = choice;
    const spoken = (said2?.content ?? said2?.reasoning_content ?? '') !== '';
    if (typeof text === 'string' || spoken || (said2?.tool_calls ?? []).length > 0)
      this.chunks += 1;
  }
}

function hasUsage(data: Buffer): boolean {
  const at = data.indexOf(USAGE);
  return at >= 0 && data[at + USAGE.length] !== NULL && data[at + USAGE.length + 1] !== NULL;
}
