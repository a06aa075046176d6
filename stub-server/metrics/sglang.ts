import type { Dialect, Family, Series } from './family.ts';

const one = (
  type: 'gauge' | 'counter',
  name: string,
  help: string,
  value: Series['value'],
): Family => ({
  name: `sglang:${name}`,
  help,
  type,
  series: [{ value }],
});

/** SGLang's names, for the figures that routers and autoscalers read. */
export const SGLANG: Dialect = {
  labels: ({ model, rank }) => ({
    dp_rank: String(rank),
    engine_type: 'unified',
    model_name: model,
    pp_rank: '0',
    tp_rank: '0',
  }),
  families: [
    one(
      'gauge',
      'num_running_reqs',
      'The number of running requests.',
      ({ engine }) => engine.runningCount,
    ),
    one(
      'gauge',
      'num_queue_reqs',
      'The number of requests in the waiting queue.',
      ({ engine }) => engine.waitingCount,
    ),
    one('gauge', 'token_usage', 'The token usage.', ({ engine }) => engine.kv.pool.usage),
    one(
      'gauge',
      'num_used_tokens',
      'The number of used tokens.',
      ({ engine, blockTokens }) => engine.kv.pool.held * blockTokens,
    ),
    one(
      'gauge',
      'max_total_num_tokens',
      'The maximum number of tokens in the KV cache.',
      ({ kvBlocks, blockTokens }) => kvBlocks * blockTokens,
    ),
    one(
      'gauge',
      'gen_throughput',
      'The generation throughput (token/s).',
      ({ stats }) => stats.tokensPerSecond,
    ),
    one(
      'gauge',
      'cache_hit_rate',
      'The prefix cache hit rate.',
      ({ stats }) => stats.prefixHitTokens / Math.max(1, stats.prefixQueriedTokens),
    ),
    one(
      'counter',
      'num_retracted_reqs',
      'The number of retracted requests.',
      ({ stats }) => stats.preemptions,
    ),
    one(
      'counter',
      'prompt_tokens_total',
      'Number of prefill tokens processed.',
      ({ stats }) => stats.promptTokens,
    ),
    one(
      'counter',
      'generation_tokens_total',
      'Number of generation tokens processed.',
      ({ stats }) => stats.generatedTokens,
    ),
    one(
      'counter',
      'cached_tokens_total',
      'Number of cached prompt tokens.',
      ({ stats }) => stats.cachedPromptTokens,
    ),
    one(
      'counter',
      'num_requests_total',
      'Number of requests processed.',
      ({ stats }) => stats.requests,
    ),
    one(
      'counter',
      'num_aborted_requests_total',
      'Number of requests aborted.',
      ({ stats }) => stats.finished.abort,
    ),
    {
      name: 'sglang:time_to_first_token_seconds',
      help: 'Histogram of time to first token in seconds.',
      type: 'histogram',
      histogram: ({ sglangFirstToken }) => sglangFirstToken,
    },
    {
      name: 'sglang:inter_token_latency_seconds',
      help: 'Histogram of inter-token latency in seconds.',
      type: 'histogram',
      histogram: ({ sglangInterToken }) => sglangInterToken,
    },
    {
      name: 'sglang:e2e_request_latency_seconds',
      help: 'Histogram of end-to-end request latency in seconds.',
      type: 'histogram',
      histogram: ({ sglangRequest }) => sglangRequest,
    },
    {
      name: 'sglang:cache_config_info',
      help: 'Information of the cache.',
      type: 'info',
      info: ({ blockTokens, kvBlocks }) => ({
        value: 1,
        labels: { num_pages: String(kvBlocks), page_size: String(blockTokens) },
      }),
    },
  ],
};
