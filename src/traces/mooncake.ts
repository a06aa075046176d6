import { z } from 'zod';
import type { LineReader } from './trace.ts';

/** The Mooncake traces hash prompts in blocks of so many tokens. */
export const MOONCAKE_BLOCK_TOKENS = 512;

const row = z.object({
  timestamp: z.number().nonnegative(),
  input_length: z.int().positive(),
  output_length: z.int().nonnegative(),
  hash_ids: z.array(z.int().nonnegative()).min(1),
});

/**
 * A line of Mooncake's JSON Lines. Its last id stands for a block that is perhaps not full, which no engine keeps:
 * it is left out.
 */
export const readMooncakeLine: LineReader = (line) => {
  let raw: unknown;
  try {
    raw = JSON.parse(line);
  } catch {
    return 'not JSON';
  }
  const parsed = row.safeParse(raw);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not a request'}`;
  }
  const { timestamp, input_length, output_length, hash_ids } = parsed.data;
  const blocks = Math.ceil(input_length / MOONCAKE_BLOCK_TOKENS);
  if (hash_ids.length !== blocks) {
    return `hash_ids has ${hash_ids.length} ids, and ${input_length} tokens are ${blocks} blocks of ${MOONCAKE_BLOCK_TOKENS}`;
  }
  return {
    atMs: timestamp,
    model: '',
    promptTokens: input_length,
    // The trace has answers of no token; a model server gives at least one.
    outputTokens: Math.max(1, output_length),
    blockIds: hash_ids.slice(0, Math.floor(input_length / MOONCAKE_BLOCK_TOKENS)),
  };
};
