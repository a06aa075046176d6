import { z } from 'zod';
import { exactId, nonNegative, parseJson, promptTokens } from '../json-fields.ts';
import type { RecordedEnd, TraceRequest } from '../trace.ts';
import {
  BLOCK_TOKENS_WITHOUT_IDS,
  NO_TRACE_BLOCKS,
  type ReadResult,
  SKIPPED,
  TOKENS_MAX,
  type TraceFormat,
  type TraceReader,
} from '../trace-format.ts';

const replay = z.object({
  trace_block_size: z.int().positive().max(TOKENS_MAX),
  input_length: promptTokens,
  input_sequence_hashes: z.array(z.number().nonnegative()),
});

const request = z.object({
  model: z.string().nullish(),
  request_received_ms: nonNegative.nullish(),
  input_tokens: z.int().nonnegative().max(TOKENS_MAX).nullish(),
  output_tokens: z.int().nonnegative().max(TOKENS_MAX).nullish(),
  ttft_ms: nonNegative.nullish(),
  total_time_ms: nonNegative.nullish(),
  replay: replay.nullish(),
  finish_reason_metadata: z.object({ backend_finish_reason: z.string().nullish() }).nullish(),
});

const event = z.object({
  event_type: z.string(),
  event_time_unix_ms: nonNegative,
  // A trajectory is one conversation of a session with several agents; newer versions have sessions alone.
  agent_context: z
    .object({ trajectory_id: z.string().nullish(), session_id: z.string().nullish() })
    .nullish(),
  request: request.nullish(),
});

type Event = z.infer<typeof event>;
type Request = z.infer<typeof request>;

/** Earlier versions put each event into an envelope with a time that counts from their start. */
const envelope = z.object({ event }).transform((each) => each.event);
const IN_ENVELOPE = /^\{\s*"timestamp"/;

/** What NVIDIA Dynamo writes with DYN_REQUEST_TRACE: the requests as they end, and events of tools. */
export const DYNAMO: TraceFormat = {
  name: 'dynamo',
  about: 'request traces of NVIDIA Dynamo (DYN_REQUEST_TRACE)',
  carries: ['blockIds', 'model', 'session', 'seen'],
  shape: 'lines',
  firstLine: (text) => text.startsWith('{') && /"dynamo\.(?:request|agent)\.trace\.v/.test(text),
  ordered: false,
  reader: () => new DynamoReader(),
};

class DynamoReader implements TraceReader {
  #blockTokens: number | undefined;

  get blockTokens(): number {
    return this.#blockTokens ?? BLOCK_TOKENS_WITHOUT_IDS;
  }

  readonly read = (text: string): ReadResult => {
    const parsed = parseJson(text, IN_ENVELOPE.test(text) ? envelope : event);
    if (typeof parsed === 'string') return parsed;
    // Tools and payloads have lines of their own.
    if (parsed.event_type !== 'request_end') return [];
    const { request: ended } = parsed;
    const size = ended?.replay?.input_length ?? ended?.input_tokens ?? 0;
    if (ended === undefined || ended === null || size === 0) return [SKIPPED];
    const blockIds = this.#blocksOf(ended);
    return typeof blockIds === 'string' ? blockIds : requestOf(parsed, ended, size, blockIds);
  };

  /** A string is an error message. */
  #blocksOf({ replay: blocks }: Request): readonly number[] | string {
    if (blocks === undefined || blocks === null) return NO_TRACE_BLOCKS;
    const { trace_block_size: each, input_length: tokens, input_sequence_hashes: hashes } = blocks;
    this.#blockTokens ??= each;
    if (each !== this.#blockTokens) {
      return `trace_block_size is ${each}, and ${this.#blockTokens} in a line above: a trace has blocks of one size, so write each size into a file of its own`;
    }
    const most = Math.ceil(tokens / each);
    if (hashes.length > most) {
      return `input_sequence_hashes has ${hashes.length} hashes, but ${tokens} tokens are ${most} blocks of ${each}`;
    }
    // The last one may stand for a block that is not full, which engines do not cache.
    return hashes.slice(0, Math.floor(tokens / each)).map(exactId);
  }
}

function requestOf(
  { event_time_unix_ms: endMs, agent_context: context }: Event,
  ended: Request,
  size: number,
  blockIds: readonly number[],
): TraceRequest {
  const session = context?.trajectory_id ?? context?.session_id ?? undefined;
  const seen = endOf(ended);
  const isWhole = seen.outcome === 'completed';
  return {
    atMs: ended.request_received_ms ?? endMs - (ended.total_time_ms ?? 0),
    model: ended.model ?? '',
    promptTokens: size,
    // How many tokens came before a request failed does not say how many it asked for.
    outputTokens: isWhole ? Math.max(1, ended.output_tokens ?? Number.NaN) : Number.NaN,
    blockIds,
    ...(session !== undefined && { session }),
    seen,
  };
}

function endOf({ ttft_ms, total_time_ms, finish_reason_metadata: end }: Request): RecordedEnd {
  const reason = end?.backend_finish_reason ?? '';
  const failed = reason.startsWith('error') ? 'failed' : 'completed';
  return {
    outcome: reason.startsWith('cancel') ? 'aborted' : failed,
    ...(typeof ttft_ms === 'number' && { ttftMs: ttft_ms }),
    ...(typeof total_time_ms === 'number' && { e2eMs: total_time_ms }),
  };
}
