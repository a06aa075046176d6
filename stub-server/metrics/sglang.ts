import {
  type Dialect,
  histogramsOf,
  hitRate,
  info,
  kvUsage,
  running,
  series,
  waiting,
} from './series-family.ts';

/** SGLang's metrics that routers and autoscalers read. */
export const SGLANG: Dialect = {
  prefix: 'sglang:',
  labels: ({ model, rank }) => ({
    dp_rank: String(rank),
    engine_type: 'unified',
    model_name: model,
    pp_rank: '0',
    tp_rank: '0',
  }),
  families: [
    ...series('gauge', {
      num_running_reqs: [running, 'The number of running requests.'],
      num_queue_reqs: [waiting, 'The number of requests in the waiting queue.'],
      token_usage: [kvUsage, 'The token usage.'],
      num_used_tokens: [
        ({ engine, blockTokens }) => engine.kv.pool.held * blockTokens,
        'The number of used tokens.',
      ],
      max_total_num_tokens: [
        ({ kvBlocks, blockTokens }) => kvBlocks * blockTokens,
        'The maximum number of tokens in the KV cache.',
      ],
      gen_throughput: ['tokensPerSecond', 'The generation throughput (token/s).'],
      cache_hit_rate: [hitRate, 'The prefix cache hit rate.'],
    }),
    ...series('counter', {
      num_retracted_reqs: ['preemptions', 'The number of retracted requests.'],
      prompt_tokens_total: ['promptTokens', 'Number of prefill tokens processed.'],
      generation_tokens_total: ['generatedTokens', 'Number of generation tokens processed.'],
      cached_tokens_total: ['cachedPromptTokens', 'Number of cached prompt tokens.'],
      num_requests_total: ['requests', 'Number of requests processed.'],
      num_aborted_requests_total: [
        ({ stats }) => stats.finished.abort,
        'Number of requests aborted.',
      ],
    }),
    ...histogramsOf({
      time_to_first_token_seconds: ['sglangFirstToken', 'time to first token in seconds.'],
      inter_token_latency_seconds: ['sglangInterToken', 'inter-token latency in seconds.'],
      e2e_request_latency_seconds: ['sglangRequest', 'end-to-end request latency in seconds.'],
    }),
    info('cache_config_info', 'Information of the cache.', ({ blockTokens, kvBlocks }) => [
      { value: 1, labels: { num_pages: String(kvBlocks), page_size: String(blockTokens) } },
    ]),
  ],
};
