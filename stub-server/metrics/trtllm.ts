import type { Dialect, Family, Series } from './family.ts';

const one = (
  type: 'gauge' | 'counter',
  name: string,
  help: string,
  value: Series['value'],
): Family => ({
  name: `trtllm_${name}`,
  help,
  type,
  series: [{ value }],
});

const histogram = (
  name: string,
  help: string,
  read: Extract<Family, { type: 'histogram' }>['histogram'],
): Family => ({ name: `trtllm_${name}`, help, type: 'histogram', histogram: read });

/** trtllm-serve's names. */
export const TRTLLM: Dialect = {
  labels: ({ model }) => ({ engine_type: 'trtllm', model_name: model }),
  families: [
    one(
      'gauge',
      'num_requests_running',
      'Requests in execution.',
      ({ engine }) => engine.runningCount,
    ),
    one('gauge', 'num_requests_waiting', 'Requests waiting.', ({ engine }) => engine.waitingCount),
    one(
      'counter',
      'num_requests_completed_total',
      'Requests completed.',
      ({ stats }) => stats.finished.stop + stats.finished.length,
    ),
    one(
      'gauge',
      'kv_cache_utilization',
      'Share of KV-cache blocks in use.',
      ({ engine }) => engine.kv.pool.usage,
    ),
    one(
      'gauge',
      'kv_cache_hit_rate',
      'Share of prompt tokens found in the cache.',
      ({ stats }) => stats.prefixHitTokens / Math.max(1, stats.prefixQueriedTokens),
    ),
    one('gauge', 'kv_cache_max_blocks', 'KV-cache blocks.', ({ kvBlocks }) => kvBlocks),
    one(
      'gauge',
      'kv_cache_free_blocks',
      'KV-cache blocks not in use.',
      ({ engine }) => engine.kv.pool.free,
    ),
    one(
      'gauge',
      'kv_cache_used_blocks',
      'KV-cache blocks in use.',
      ({ engine }) => engine.kv.pool.held,
    ),
    one(
      'gauge',
      'kv_cache_tokens_per_block',
      'Tokens in a block.',
      ({ blockTokens }) => blockTokens,
    ),
    one('counter', 'prompt_tokens_total', 'Prompt tokens.', ({ stats }) => stats.promptTokens),
    one(
      'counter',
      'generation_tokens_total',
      'Generated tokens.',
      ({ stats }) => stats.generatedTokens,
    ),
    {
      name: 'trtllm_request_success_total',
      help: 'Requests by how they ended.',
      type: 'counter',
      series: (['stop', 'length', 'abort', 'error'] as const).map((reason) => ({
        labels: { finished_reason: reason },
        value: ({ stats }) => stats.finished[reason],
      })),
    },
    histogram(
      'time_to_first_token_seconds',
      'Time to first token.',
      ({ firstToken }) => firstToken,
    ),
    histogram(
      'time_per_output_token_seconds',
      'Time per output token.',
      ({ perOutputToken }) => perOutputToken,
    ),
    histogram('e2e_request_latency_seconds', 'Request latency.', ({ request }) => request),
    histogram('request_queue_time_seconds', 'Time in the queue.', ({ queue }) => queue),
    histogram('request_prefill_time_seconds', 'Time in prefill.', ({ prefill }) => prefill),
  ],
};
