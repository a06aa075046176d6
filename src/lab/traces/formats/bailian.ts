import { z } from 'zod';
import { nonNegative, outputTokens, parseJson, promptTokens } from '../json-fields.ts';
import type { TraceRequest } from '../trace.ts';
import type { TraceFormat, TraceReader } from '../trace-format.ts';

/** Tokens in each block that the Bailian traces hash; their file names say `blksz_16`. */
const BLOCK_TOKENS = 16;
const SECOND_MS = 1000;
const NO_PARENT = -1;

const row = z.object({
  chat_id: z.int(),
  parent_chat_id: z.int(),
  timestamp: nonNegative,
  input_length: promptTokens,
  output_length: outputTokens,
  hash_ids: z.array(z.int()),
});

/** The anonymized traces of Qwen models on Alibaba Cloud's Bailian, as JSON Lines. */
export const BAILIAN: TraceFormat = {
  name: 'bailian',
  about: 'JSON Lines of the Qwen-Bailian usage traces',
  carries: ['blockIds', 'session'],
  shape: 'lines',
  firstLine: (text) =>
    text.startsWith('{') && text.includes('"chat_id"') && text.includes('"hash_ids"'),
  // Some of the published files have requests that are milliseconds out of order.
  ordered: false,
  reader: () => new BailianReader(),
};

class BailianReader implements TraceReader {
  readonly blockTokens: number = BLOCK_TOKENS;
  /** The first turn of the conversation of each chat. */
  readonly #firstTurns = new Map<number, number>();

  readonly read = (line: string): TraceRequest | string => {
    const parsed = parseJson(line, row);
    if (typeof parsed === 'string') return parsed;
    const { chat_id, parent_chat_id: parent, timestamp, input_length, hash_ids } = parsed;
    const blocks = Math.ceil(input_length / BLOCK_TOKENS);
    if (hash_ids.length > blocks) {
      return `hash_ids has ${hash_ids.length} ids, but ${input_length} tokens are ${blocks} blocks of ${BLOCK_TOKENS}`;
    }
    // The parent may have arrived before the trace began; its other turns share its number.
    const first = parent === NO_PARENT ? chat_id : (this.#firstTurns.get(parent) ?? parent);
    this.#firstTurns.set(chat_id, first);
    return {
      atMs: SECOND_MS * timestamp,
      model: '',
      promptTokens: input_length,
      outputTokens: parsed.output_length,
      // The last id may stand for a block that is not full, which engines do not cache.
      blockIds: hash_ids.slice(0, Math.floor(input_length / BLOCK_TOKENS)),
      session: String(first),
    };
  };
}
