import { z } from 'zod';
import { ConfigError } from '../../../framework/error.ts';
import type { Millis } from '../../../framework/runtime.ts';
import { nonNegative, outputTokens, parseJson, promptTokens } from '../json-fields.ts';
import { hasBlocks } from '../merge-traces.ts';
import { inBlocksOf } from '../prefix-numbers.ts';
import { requestsText, spanText, type TraceContent, type TraceRequest } from '../trace.ts';
import type { TraceFormat, TraceReader } from '../trace-format.ts';

/** Tokens in each block that the Mooncake traces hash. */
const BLOCK_TOKENS = 512;

/** A Unix time in seconds is in this range from 2001 to 2286; one in milliseconds is above it. */
const UNIX_SECONDS = { from: 1e9, below: 1e10 } as const;

/** Fewer requests may well come within some milliseconds. */
const REQUESTS_MIN = 20;

/** Without a value; pandas and others write null for it. */
function given<T extends z.ZodType>(value: T) {
  return value.nullish().transform((each) => each ?? undefined);
}

const row = z.object({
  timestamp: given(nonNegative),
  input_length: promptTokens,
  output_length: given(outputTokens),
  hash_ids: given(z.array(z.int().nonnegative())),
  session_id: given(z.string()),
  delay: given(nonNegative),
});

/** Mooncake's JSON Lines, with the fields that AIPerf has added for conversations. */
export const MOONCAKE: TraceFormat = {
  name: 'mooncake',
  about: 'Mooncake’s JSON Lines, which AIPerf replays, too',
  carries: ['blockIds', 'session', 'thinkMs'],
  shape: 'lines',
  firstLine: '{',
  ordered: true,
  reader: () => new MooncakeReader(),
  write,
};

class MooncakeReader implements TraceReader {
  readonly blockTokens: number = BLOCK_TOKENS;
  /** The arrival of each session's last request so far. */
  readonly #sessions = new Map<string, number>();
  #firstMs: number | undefined;
  #lastMs = 0;
  #requests = 0;

  readonly read = (line: string): TraceRequest | string => {
    const parsed = parseJson(line, row);
    if (typeof parsed === 'string') return parsed;
    const { timestamp, input_length, output_length = Number.NaN } = parsed;
    const { session_id: session, delay: thinkMs, hash_ids = [] } = parsed;
    const before = session === undefined ? undefined : this.#sessions.get(session);
    // A turn without a time arrives its delay after the turn before it, which is the earliest time.
    const atMs = timestamp ?? (before ?? Number.NaN) + (thinkMs ?? Number.NaN);
    if (Number.isNaN(atMs)) return 'timestamp is missing, and there is no delay after another turn';
    const blocks = Math.ceil(input_length / BLOCK_TOKENS);
    if (hash_ids.length !== blocks && hash_ids.length > 0) {
      return `hash_ids has ${hash_ids.length} ids, but ${input_length} tokens are ${blocks} blocks of ${BLOCK_TOKENS}`;
    }
    this.#firstMs ??= atMs;
    this.#lastMs = Math.max(this.#lastMs, atMs);
    this.#requests += 1;
    if (session !== undefined) this.#sessions.set(session, atMs);
    return {
      atMs,
      model: '',
      promptTokens: input_length,
      outputTokens: output_length,
      // The last id may stand for a block that is not full, which engines do not cache.
      blockIds: hash_ids.slice(0, Math.floor(input_length / BLOCK_TOKENS)),
      ...(session !== undefined && { session }),
      ...(thinkMs !== undefined && { thinkMs }),
    };
  };

  readonly notes = (): readonly string[] => {
    const first = this.#firstMs ?? 0;
    const isUnixSeconds = first >= UNIX_SECONDS.from && first < UNIX_SECONDS.below;
    if (!isUnixSeconds) return this.#noteRate(this.#lastMs - first);
    return [
      `timestamp begins at ${first}, which was read as milliseconds: if it is a Unix time in seconds, multiply all by 1000`,
    ];
  };

  /** Seconds that count from the beginning of a trace look like any other numbers. */
  #noteRate(spanMs: Millis): readonly string[] {
    if (spanMs === 0 || this.#requests < REQUESTS_MIN || this.#requests / spanMs < 1) return [];
    return [
      `timestamp ends ${spanText(spanMs)} after it begins, for ${requestsText(this.#requests)}: if it is in seconds, multiply all by 1000`,
    ];
  }
}

function* write(trace: TraceContent): Generator<string, void> {
  const { blockTokens, requests } = trace;
  if (BLOCK_TOKENS % blockTokens !== 0 && hasBlocks(trace)) {
    const message = `${blockTokens} tokens do not divide the ${BLOCK_TOKENS} of Mooncake's blocks; use --to pointsman`;
    throw new ConfigError('mooncake', [{ path: 'blockTokens', message }]);
  }
  const own = BLOCK_TOKENS % blockTokens === 0 ? trace : { ...trace, blockTokens: BLOCK_TOKENS };
  const blocks = inBlocksOf(BLOCK_TOKENS, own);
  for (const { atMs, promptTokens, outputTokens, session, thinkMs } of requests) {
    const { value: hash_ids } = blocks.next();
    const sizes = { input_length: promptTokens, output_length: outputTokens, hash_ids };
    const line = { timestamp: atMs, ...sizes, session_id: session, delay: thinkMs };
    yield `${JSON.stringify(line)}\n`;
  }
}
