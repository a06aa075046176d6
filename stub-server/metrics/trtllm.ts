import {
  type Dialect,
  histograms,
  hitRate,
  kvUsage,
  requestSuccess,
  running,
  series,
  waiting,
} from './series-family.ts';

/** The metrics of trtllm-serve. */
export const TRTLLM: Dialect = {
  prefix: 'trtllm_',
  labels: ({ model }) => ({ engine_type: 'trtllm', model_name: model }),
  families: [
    ...series('gauge', {
      num_requests_running: [running, 'Requests in execution.'],
      num_requests_waiting: [waiting, 'Requests waiting.'],
    }),
    ...series('counter', {
      num_requests_completed_total: [
        ({ stats }) => stats.finished.stop + stats.finished.length,
        'Requests completed.',
      ],
    }),
    ...series('gauge', {
      kv_cache_utilization: [kvUsage, 'Share of KV-cache blocks in use.'],
      kv_cache_hit_rate: [hitRate, 'Share of prompt tokens found in the cache.'],
      kv_cache_max_blocks: [({ kvBlocks }) => kvBlocks, 'KV-cache blocks.'],
      kv_cache_free_blocks: [({ engine }) => engine.kv.pool.free, 'KV-cache blocks not in use.'],
      kv_cache_used_blocks: [({ engine }) => engine.kv.pool.held, 'KV-cache blocks in use.'],
      kv_cache_tokens_per_block: [({ blockTokens }) => blockTokens, 'Tokens in a block.'],
    }),
    ...series('counter', {
      prompt_tokens_total: ['promptTokens', 'Prompt tokens.'],
      generation_tokens_total: ['generatedTokens', 'Generated tokens.'],
    }),
    requestSuccess('Requests by how they ended.'),
    ...histograms({
      time_to_first_token_seconds: ['firstToken', 'Time to first token.'],
      time_per_output_token_seconds: ['perOutputToken', 'Time per output token.'],
      e2e_request_latency_seconds: ['request', 'Request latency.'],
      request_queue_time_seconds: ['queue', 'Time in the queue.'],
      request_prefill_time_seconds: ['prefill', 'Time in prefill.'],
    }),
  ],
};
