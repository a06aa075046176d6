import { SPECULATION_TOKENS_MAX } from '../engine/speculation.ts';
import type { Dialect, Family, MetricsSource, Series } from './family.ts';

const gauge = (name: string, help: string, value: Series['value']): Family => ({
  name: `vllm:${name}`,
  help,
  type: 'gauge',
  series: [{ value }],
});

const counter = (name: string, help: string, value: Series['value']): Family => ({
  name: `vllm:${name}_total`,
  help,
  type: 'counter',
  series: [{ value }],
});

const histogram = (
  name: string,
  help: string,
  read: Extract<Family, { type: 'histogram' }>['histogram'],
): Family => ({ name: `vllm:${name}`, help, type: 'histogram', histogram: read });

const usage = ({ engine }: MetricsSource): number => engine.kv.pool.usage;

/** In both years. */
const COMMON: readonly Family[] = [
  gauge(
    'num_requests_running',
    'Number of requests in model execution batches.',
    ({ engine }) => engine.runningCount,
  ),
  gauge(
    'num_requests_waiting',
    'Number of requests waiting to be processed.',
    ({ engine }) => engine.waitingCount,
  ),
  gauge('kv_cache_usage_perc', 'KV-cache usage. 1 means 100 percent usage.', usage),
  counter(
    'prefix_cache_queries',
    'Prefix cache queries, in terms of number of queried tokens.',
    ({ stats }) => stats.prefixQueriedTokens,
  ),
  counter(
    'prefix_cache_hits',
    'Prefix cache hits, in terms of number of cached tokens.',
    ({ stats }) => stats.prefixHitTokens,
  ),
  counter(
    'num_preemptions',
    'Cumulative number of preemption from the engine.',
    ({ stats }) => stats.preemptions,
  ),
  counter(
    'prompt_tokens',
    'Number of prefill tokens processed.',
    ({ stats }) => stats.promptTokens,
  ),
  counter(
    'generation_tokens',
    'Number of generation tokens processed.',
    ({ stats }) => stats.generatedTokens,
  ),
  {
    name: 'vllm:request_success_total',
    help: 'Count of successfully processed requests.',
    type: 'counter',
    series: (['stop', 'length', 'abort', 'error'] as const).map((reason) => ({
      labels: { finished_reason: reason },
      value: ({ stats }) => stats.finished[reason],
    })),
  },
  histogram(
    'iteration_tokens_total',
    'Histogram of number of tokens per engine_step.',
    ({ stepTokens }) => stepTokens,
  ),
  histogram(
    'time_to_first_token_seconds',
    'Histogram of time to first token in seconds.',
    ({ firstToken }) => firstToken,
  ),
  histogram(
    'e2e_request_latency_seconds',
    'Histogram of e2e request latency in seconds.',
    ({ request }) => request,
  ),
  histogram(
    'request_queue_time_seconds',
    'Histogram of time spent in WAITING phase for request.',
    ({ queue }) => queue,
  ),
  histogram(
    'request_inference_time_seconds',
    'Histogram of time spent in RUNNING phase for request.',
    ({ inference }) => inference,
  ),
  histogram(
    'request_prefill_time_seconds',
    'Histogram of time spent in PREFILL phase for request.',
    ({ prefill }) => prefill,
  ),
  histogram(
    'request_decode_time_seconds',
    'Histogram of time spent in DECODE phase for request.',
    ({ decode }) => decode,
  ),
  histogram(
    'request_prompt_tokens',
    'Number of prefill tokens processed.',
    ({ requestPromptTokens }) => requestPromptTokens,
  ),
  histogram(
    'request_generation_tokens',
    'Number of generation tokens processed.',
    ({ requestGeneratedTokens }) => requestGeneratedTokens,
  ),
  histogram(
    'request_max_num_generation_tokens',
    'Histogram of maximum number of requested generation tokens.',
    ({ requestGeneratedTokens }) => requestGeneratedTokens,
  ),
  histogram(
    'request_params_max_tokens',
    'Histogram of the max_tokens request parameter.',
    ({ requestTokensMax }) => requestTokensMax,
  ),
  histogram(
    'request_params_n',
    'Histogram of the n request parameter.',
    ({ requestAnswers }) => requestAnswers,
  ),
  counter(
    'spec_decode_num_drafts',
    'Number of spec decoding drafts.',
    ({ engine: { speculation } }) => speculation?.drafts,
  ),
  counter(
    'spec_decode_num_draft_tokens',
    'Number of draft tokens.',
    ({ engine: { speculation } }) => speculation && speculation.drafts * speculation.options.tokens,
  ),
  counter(
    'spec_decode_num_accepted_tokens',
    'Number of accepted tokens.',
    ({ engine: { speculation } }) => speculation?.acceptedTokens,
  ),
  {
    name: 'vllm:spec_decode_num_accepted_tokens_per_pos_total',
    help: 'Accepted tokens per draft position.',
    type: 'counter',
    series: Array.from({ length: SPECULATION_TOKENS_MAX }, (_, place) => ({
      labels: { position: String(place) },
      value: ({ engine }) => engine.speculation?.acceptedAt[place],
    })),
  },
  {
    name: 'vllm:lora_requests_info',
    help: 'Running stats on lora requests.',
    type: 'info',
    info: loraInfo,
  },
  {
    name: 'vllm:cache_config_info',
    help: 'Information of the LLMEngine CacheConfig',
    type: 'info',
    info: cacheConfig,
  },
];

/** vLLM calls a data-parallel rank an engine. */
const labels: Dialect['labels'] = ({ model, rank }) => ({
  engine: String(rank),
  model_name: model,
});

/** vLLM V1 as of 2026 (v0.19 and later). */
export const VLLM: Dialect = {
  labels,
  families: [
    ...COMMON,
    {
      name: 'vllm:num_requests_waiting_by_reason',
      help: 'Number of requests waiting to be processed, by reason.',
      type: 'gauge',
      series: [
        { labels: { reason: 'capacity' }, value: ({ engine }) => engine.waitingCount },
        { labels: { reason: 'deferred' }, value: () => 0 },
      ],
    },
    {
      name: 'vllm:prompt_tokens_by_source_total',
      help: 'Number of prompt tokens by where their KV came from.',
      type: 'counter',
      series: [
        {
          labels: { source: 'local_compute' },
          value: ({ stats }) =>
            stats.promptTokens - stats.cachedPromptTokens - stats.transferredPromptTokens,
        },
        { labels: { source: 'local_cache_hit' }, value: ({ stats }) => stats.cachedPromptTokens },
        {
          labels: { source: 'external_kv_transfer' },
          value: ({ stats }) => stats.transferredPromptTokens,
        },
      ],
    },
    counter(
      'prompt_tokens_cached',
      'Number of cached prompt tokens.',
      ({ stats }) => stats.cachedPromptTokens,
    ),
    counter(
      'external_prefix_cache_queries',
      'External prefix cache queries, in tokens.',
      ({ stats }) => stats.transferredPromptTokens,
    ),
    counter(
      'external_prefix_cache_hits',
      'External prefix cache hits, in tokens.',
      ({ stats }) => stats.transferredPromptTokens,
    ),
    histogram(
      'inter_token_latency_seconds',
      'Histogram of inter-token latency in seconds.',
      ({ interToken }) => interToken,
    ),
    histogram(
      'request_time_per_output_token_seconds',
      'Histogram of time_per_output_token_seconds per request.',
      ({ perOutputToken }) => perOutputToken,
    ),
    histogram(
      'request_prefill_kv_computed_tokens',
      'Histogram of new KV tokens computed during prefill.',
      ({ requestComputedTokens }) => requestComputedTokens,
    ),
    histogram(
      'request_num_preemptions',
      'Histogram of preemptions per request.',
      ({ requestPreemptions }) => requestPreemptions,
    ),
    {
      name: 'vllm:engine_sleep_state',
      help: 'Engine sleep state; awake = 0 means engine is sleeping.',
      type: 'gauge',
      series: [
        { labels: { sleep_state: 'awake' }, value: ({ engine }) => (engine.asleep ? 0 : 1) },
        {
          labels: { sleep_state: 'weights_offloaded' },
          value: ({ engine }) => (engine.asleep ? 1 : 0),
        },
        { labels: { sleep_state: 'discard_all' }, value: () => 0 },
      ],
    },
  ],
};

/** vLLM V1 as of 2025 (v0.9 to v0.11), old aliases beside the new names. */
export const VLLM_2025: Dialect = {
  labels,
  families: [
    ...COMMON,
    gauge('gpu_cache_usage_perc', 'GPU KV-cache usage. 1 means 100 percent usage.', usage),
    counter(
      'gpu_prefix_cache_queries',
      'GPU prefix cache queries, in terms of number of queried tokens.',
      ({ stats }) => stats.prefixQueriedTokens,
    ),
    counter(
      'gpu_prefix_cache_hits',
      'GPU prefix cache hits, in terms of number of cached tokens.',
      ({ stats }) => stats.prefixHitTokens,
    ),
    histogram(
      'time_per_output_token_seconds',
      'Histogram of time per output token in seconds.',
      ({ interToken }) => interToken,
    ),
    histogram(
      'inter_token_latency_seconds',
      'Histogram of inter-token latency in seconds.',
      ({ interToken }) => interToken,
    ),
    histogram(
      'time_per_prefill_token_request_seconds',
      'Histogram of time per prefill token per request.',
      ({ perPrefillToken }) => perPrefillToken,
    ),
  ],
};

function loraInfo({
  engine,
  lorasMax,
  wallSeconds,
}: MetricsSource): ReturnType<Extract<Family, { type: 'info' }>['info']> {
  if (lorasMax === 0) return undefined;
  const waiting = new Set<string>();
  engine.forEachWaiting(({ request }) => {
    if (request.lora !== undefined) waiting.add(request.lora);
  });
  return {
    labels: {
      max_lora: String(lorasMax),
      running_lora_adapters: [...engine.loras.running].join(','),
      waiting_lora_adapters: [...waiting].join(','),
    },
    value: wallSeconds(),
  };
}

/** No model_name, as in vLLM. */
function cacheConfig({
  blockTokens,
  kvBlocks,
  rank,
}: MetricsSource): ReturnType<Extract<Family, { type: 'info' }>['info']> {
  return {
    value: 1,
    labels: {
      block_size: String(blockTokens),
      cache_dtype: 'auto',
      enable_prefix_caching: 'True',
      engine: String(rank),
      gpu_memory_utilization: '0.92',
      is_attention_free: 'False',
      num_cpu_blocks: 'None',
      num_gpu_blocks: String(kvBlocks),
      num_gpu_blocks_override: 'None',
      prefix_caching_hash_algo: 'sha256',
      sliding_window: 'None',
      swap_space: '4',
    },
  };
}
