import { z } from 'zod';

/** One request of a trace. */
export interface TraceRow {
  /** Since the trace began. */
  readonly timestampMs: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** One id a block of `BLOCK_TOKENS` tokens, the last perhaps partial; equal ids are equal text. */
  readonly hashIds: readonly number[];
}

/** The Mooncake traces hash prompts in blocks of so many tokens. */
export const BLOCK_TOKENS = 512;

const row = z.object({
  timestamp: z.number().nonnegative(),
  input_length: z.int().positive(),
  output_length: z.int().nonnegative(),
  hash_ids: z.array(z.int().nonnegative()).min(1),
});

/** Reads a trace in Mooncake's format, JSON lines. Throws with the source's name and the line at the first that is not a request. */
export function readMooncakeTrace(text: string, source: string): readonly TraceRow[] {
  const rows: TraceRow[] = [];
  const lines = text.split('\n');
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '') continue;
    const where = `${source}:${index + 1}`;
    const parsed = row.safeParse(parseLine(line, where));
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      throw new Error(
        `${where}: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not a request'}`,
      );
    }
    const { timestamp, input_length, output_length, hash_ids } = parsed.data;
    const blocks = Math.ceil(input_length / BLOCK_TOKENS);
    if (hash_ids.length !== blocks) {
      throw new Error(
        `${where}: hash_ids has ${hash_ids.length} ids, and ${input_length} tokens are ${blocks} blocks of ${BLOCK_TOKENS}`,
      );
    }
    const previous = rows.at(-1)?.timestampMs ?? 0;
    if (timestamp < previous) {
      throw new Error(`${where}: timestamp ${timestamp} is before the line above, ${previous}`);
    }
    rows.push({
      timestampMs: timestamp,
      inputTokens: input_length,
      outputTokens: output_length,
      hashIds: hash_ids,
    });
  }
  return rows;
}

function parseLine(line: string, where: string): unknown {
  try {
    return JSON.parse(line);
  } catch (error) {
    throw new Error(`${where}: not JSON: ${String(error)}`, { cause: error });
  }
}
