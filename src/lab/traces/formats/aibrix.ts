import { z } from 'zod';
import { countOf } from '../../../framework/values/grouped.ts';
import { nonNegative, outputTokens, parseJson, promptTokens } from '../json-fields.ts';
import {
  BLOCK_TOKENS_WITHOUT_IDS,
  NO_TRACE_BLOCKS,
  type ReadResult,
  SKIPPED,
  type TraceFormat,
  type TraceReader,
} from '../trace-format.ts';

const id = z.union([z.string(), z.number()]).nullish();

const turn = z.object({
  prompt_length: promptTokens.nullish(),
  output_length: outputTokens.nullish(),
  session_id: id,
});
type Turn = z.infer<typeof turn>;

/** What its generator writes: the requests of one time, in milliseconds since the start. */
const sent = z.object({ timestamp: nonNegative, requests: z.array(turn) });

/** Texts of prompts may have the same words, but with quotes that are escaped. */
const WORKLOAD = /"timestamp"\s*:\s*[\d.]+\s*,\s*"requests"\s*:\s*\[/;

/** What its client writes of a request that has ended. */
const ended = z.object({
  // Seconds of a clock without a date.
  start_time: nonNegative,
  // 0 where the request failed.
  prompt_tokens: z.union([z.literal(0), promptTokens]).nullish(),
  output_tokens: outputTokens.nullish(),
  latency: z.unknown().optional(),
  // `Unknown` where answers were not streamed.
  ttft: z.unknown().optional(),
  status: z.string().nullish(),
  session_id: id,
});

/** The workloads of AIBrix's generator, and what its client says of each request. */
export const AIBRIX: TraceFormat = {
  name: 'aibrix',
  about: 'AIBrix’s workloads, and the output of its benchmark client',
  carries: ['blockIds', 'session', 'seen'],
  shape: 'lines-or-values',
  firstLine: (text) =>
    /^[{[]/.test(text) &&
    (WORKLOAD.test(text) ||
      ['"output_tokens"', '"throughput"', '"latency"'].every((each) => text.includes(each))),
  // Records of the client are in the order in which requests ended.
  ordered: false,
  reader: () => new AibrixReader(),
};

/** A conversation: the client sends what was said before with each turn. */
interface Chat {
  tokens: number;
  readonly blocks: number[];
}

class AibrixReader implements TraceReader {
  readonly blockTokens: number = BLOCK_TOKENS_WITHOUT_IDS;
  readonly #chats = new Map<string, Chat>();
  #blocks = 0;
  /** Answers of unknown length that later turns repeat. */
  #unknown = 0;

  readonly read = (text: string): ReadResult => {
    if (!WORKLOAD.test(text)) return readEnded(text);
    const parsed = parseJson(text, sent);
    if (typeof parsed === 'string') return parsed;
    return parsed.requests.map((each) => this.#turn(parsed.timestamp, each));
  };

  readonly notes = (): readonly string[] =>
    this.#unknown === 0
      ? []
      : [
          `${countOf(this.#unknown, 'answer')} of conversations of unknown length: left out of the prompts of later turns`,
        ];

  #turn(atMs: number, { prompt_length: own, output_length, session_id }: Turn) {
    if (typeof own !== 'number') return SKIPPED;
    const sizes = { model: '', outputTokens: output_length ?? Number.NaN };
    const session = nameOf(session_id);
    if (session === undefined) {
      return { atMs, ...sizes, promptTokens: own, blockIds: NO_TRACE_BLOCKS };
    }
    const chat = this.#chats.get(session) ?? { tokens: 0, blocks: [] };
    this.#chats.set(session, chat);
    // A prompt length is that of the turn alone.
    const promptTokens = chat.tokens + own;
    const full = Math.floor(promptTokens / this.blockTokens);
    while (chat.blocks.length < full) chat.blocks.push(this.#blocks++);
    chat.tokens = promptTokens + (output_length ?? 0);
    if (typeof output_length !== 'number') this.#unknown += 1;
    return { atMs, ...sizes, promptTokens, blockIds: chat.blocks.slice(0, full), session };
  }
}

function readEnded(text: string): ReadResult {
  const parsed = parseJson(text, ended);
  if (typeof parsed === 'string') return parsed;
  const { start_time, prompt_tokens, output_tokens, status } = parsed;
  const failed = status !== undefined && status !== null && status !== 'success';
  // A request that failed has no counts.
  if (!prompt_tokens) return [SKIPPED];
  const session = nameOf(parsed.session_id);
  const [ttftMs, e2eMs] = [secondsMs(parsed.ttft), secondsMs(parsed.latency)];
  return {
    atMs: 1000 * start_time,
    model: '',
    promptTokens: prompt_tokens,
    outputTokens: failed ? Number.NaN : (output_tokens ?? Number.NaN),
    blockIds: NO_TRACE_BLOCKS,
    ...(session !== undefined && { session }),
    seen: {
      outcome: failed ? 'failed' : 'completed',
      ...(ttftMs !== undefined && { ttftMs }),
      ...(e2eMs !== undefined && { e2eMs }),
    },
  };
}

function nameOf(id: string | number | null | undefined): string | undefined {
  return id === undefined || id === null ? undefined : String(id);
}

function secondsMs(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 ? 1000 * value : undefined;
}
