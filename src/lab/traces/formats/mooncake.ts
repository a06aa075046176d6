import { z } from 'zod';
import { ConfigError } from '../../../framework/error.ts';
import { nonNegative, outputTokens, parseJson, promptTokens } from '../json-fields.ts';
import { inBlocksOf } from '../prefix-numbers.ts';
import type { Trace, TraceRequest } from '../trace.ts';
import type { TraceFormat, TraceReader } from '../trace-format.ts';

/** The Mooncake traces hash prompts in blocks of so many tokens. */
const BLOCK_TOKENS = 512;

const row = z.object({
  timestamp: nonNegative.optional(),
  input_length: promptTokens,
  // The trace has answers of no token; a model server gives at least one.
  output_length: outputTokens.optional(),
  hash_ids: z.array(z.int().nonnegative()).optional(),
  session_id: z.string().optional(),
  delay: nonNegative.optional(),
});

/** Mooncake’s JSON Lines, with the fields that AIPerf has added for conversations. */
export const MOONCAKE: TraceFormat = {
  name: 'mooncake',
  about: 'Mooncake’s JSON Lines, which AIPerf replays, too',
  carries: ['blockIds', 'session', 'thinkMs'],
  shape: 'lines',
  ordered: true,
  reader: () => new MooncakeReader(),
  write,
};

class MooncakeReader implements TraceReader {
  readonly blockTokens: number = BLOCK_TOKENS;
  /** When the last request of each session came. */
  readonly #sessions = new Map<string, number>();

  readonly read = (line: string): TraceRequest | string => {
    const parsed = parseJson(line, row);
    if (typeof parsed === 'string') return parsed;
    const { timestamp, input_length, output_length = Number.NaN } = parsed;
    const { session_id: session, delay: thinkMs, hash_ids = [] } = parsed;
    const before = session === undefined ? undefined : this.#sessions.get(session);
    // Without a time a turn comes so long after the one before: the earliest that it can.
    const atMs = timestamp ?? (before ?? Number.NaN) + (thinkMs ?? Number.NaN);
    if (Number.isNaN(atMs)) return 'timestamp: neither a time, nor a delay after another turn';
    const blocks = Math.ceil(input_length / BLOCK_TOKENS);
    if (hash_ids.length !== blocks && hash_ids.length > 0) {
      return `hash_ids has ${hash_ids.length} ids, and ${input_length} tokens are ${blocks} blocks of ${BLOCK_TOKENS}`;
    }
    if (session !== undefined) this.#sessions.set(session, atMs);
    return {
      atMs,
      model: '',
      promptTokens: input_length,
      outputTokens: output_length,
      // The last id stands for a block that is perhaps not full, which no engine keeps.
      blockIds: hash_ids.slice(0, Math.floor(input_length / BLOCK_TOKENS)),
      ...(session !== undefined && { session }),
      ...(thinkMs !== undefined && { thinkMs }),
    };
  };
}

function* write(trace: Trace): Generator<string, void> {
  const { blockTokens, requests } = trace;
  if (BLOCK_TOKENS % blockTokens !== 0 && requests.some(({ blockIds }) => blockIds.length > 0)) {
    const message = `${blockTokens} tokens do not divide the ${BLOCK_TOKENS} of Mooncake's blocks; use --to pointsman`;
    throw new ConfigError('mooncake', [{ path: 'blockTokens', message }]);
  }
  const own = BLOCK_TOKENS % blockTokens === 0 ? trace : { ...trace, blockTokens: BLOCK_TOKENS };
  const blocks = inBlocksOf(BLOCK_TOKENS, own);
  for (const { atMs, promptTokens, outputTokens, session, thinkMs } of requests) {
    const { value: hash_ids } = blocks.next();
    const line = {
      timestamp: atMs,
      input_length: promptTokens,
      output_length: outputTokens,
      hash_ids,
      session_id: session,
      delay: thinkMs,
    };
    yield `${JSON.stringify(line)}\n`;
  }
}
