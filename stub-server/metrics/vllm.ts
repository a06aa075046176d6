import { SPECULATION_TOKENS_MAX } from '../engine/speculation.ts';
import {
  type Dialect,
  type Family,
  histograms,
  histogramsOf,
  type InfoFamily,
  info,
  kvUsage,
  labelled,
  type MetricsSource,
  requestSuccess,
  running,
  series,
  waiting,
} from './series-family.ts';
import { HOST_TIER, LORA_RESIDENCY } from './vllm-memory.ts';

type Info = ReturnType<InfoFamily['info']>;

/** Families of both years. */
const COMMON: readonly Family[] = [
  ...series('gauge', {
    num_requests_running: [running, 'Number of requests in model execution batches.'],
    num_requests_waiting: [waiting, 'Number of requests waiting to be processed.'],
    kv_cache_usage_perc: [kvUsage, 'KV-cache usage. 1 means 100 percent usage.'],
  }),
  ...series('counter', {
    prefix_cache_queries_total: [
      'prefixQueriedTokens',
      'Prefix cache queries, in terms of number of queried tokens.',
    ],
    prefix_cache_hits_total: [
      'prefixHitTokens',
      'Prefix cache hits, in terms of number of cached tokens.',
    ],
    num_preemptions_total: ['preemptions', 'Cumulative number of preemption from the engine.'],
    prompt_tokens_total: ['promptTokens', 'Number of prefill tokens processed.'],
    generation_tokens_total: ['generatedTokens', 'Number of generation tokens processed.'],
  }),
  ...series('counter', {
    mm_cache_queries_total: [
      ({ engine }) => engine.encoder.queries,
      'Multi-modal cache queries, in terms of number of queried items.',
    ],
    mm_cache_hits_total: [
      ({ engine }) => engine.encoder.hits,
      'Multi-modal cache hits, in terms of number of cached items.',
    ],
  }),
  requestSuccess('Count of successfully processed requests.'),
  ...histogramsOf({
    iteration_tokens_total: ['stepTokens', 'number of tokens per engine_step.'],
    time_to_first_token_seconds: ['firstToken', 'time to first token in seconds.'],
    e2e_request_latency_seconds: ['request', 'e2e request latency in seconds.'],
    request_queue_time_seconds: ['queue', 'time spent in WAITING phase for request.'],
    request_inference_time_seconds: ['inference', 'time spent in RUNNING phase for request.'],
    request_prefill_time_seconds: ['prefill', 'time spent in PREFILL phase for request.'],
    request_decode_time_seconds: ['decode', 'time spent in DECODE phase for request.'],
  }),
  ...histograms({
    request_prompt_tokens: ['requestPromptTokens', 'Number of prefill tokens processed.'],
    request_generation_tokens: ['requestGeneratedTokens', 'Number of generation tokens processed.'],
  }),
  ...histogramsOf({
    request_max_num_generation_tokens: [
      'requestGeneratedTokens',
      'maximum number of requested generation tokens.',
    ],
    request_params_max_tokens: ['requestTokensMax', 'the max_tokens request parameter.'],
    request_params_n: ['requestAnswers', 'the n request parameter.'],
  }),
  ...series('counter', {
    spec_decode_num_drafts_total: [
      ({ engine }) => engine.speculation?.drafts,
      'Number of spec decoding drafts.',
    ],
    spec_decode_num_draft_tokens_total: [
      ({ engine: { speculation } }) =>
        speculation && speculation.drafts * speculation.options.tokens,
      'Number of draft tokens.',
    ],
    spec_decode_num_accepted_tokens_total: [
      ({ engine: { speculation } }) => speculation?.acceptedTokens,
      'Number of accepted tokens.',
    ],
  }),
  {
    name: 'spec_decode_num_accepted_tokens_per_pos_total',
    help: 'Accepted tokens per draft position.',
    type: 'counter',
    series: Array.from({ length: SPECULATION_TOKENS_MAX }, (_, position) => ({
      labels: { position: String(position) },
      value: ({ engine }) => engine.speculation?.acceptedAt[position],
    })),
  },
  info('lora_requests_info', 'Running stats on lora requests.', loraInfo),
  info('cache_config_info', 'Information of the LLMEngine CacheConfig', cacheConfig),
];

// vLLM calls a data-parallel rank an engine.
const labels: Dialect['labels'] = ({ model, rank }) => ({ engine: `${rank}`, model_name: model });

/** vLLM V1 as of 2026 (v0.19 and later). */
export const VLLM: Dialect = {
  prefix: 'vllm:',
  labels,
  families: [
    ...COMMON,
    labelled('gauge', 'num_requests_waiting_by_reason', {
      help: 'Number of requests waiting to be processed, by reason.',
      label: 'reason',
      values: { capacity: waiting, deferred: () => 0 },
    }),
    labelled('counter', 'prompt_tokens_by_source_total', {
      help: 'Number of prompt tokens by where their KV came from.',
      label: 'source',
      values: {
        local_compute: ({ stats }) =>
          stats.promptTokens - stats.cachedPromptTokens - stats.transferredPromptTokens,
        local_cache_hit: 'cachedPromptTokens',
        external_kv_transfer: 'transferredPromptTokens',
      },
    }),
    ...series('counter', {
      prompt_tokens_cached_total: ['cachedPromptTokens', 'Number of cached prompt tokens.'],
      external_prefix_cache_queries_total: [
        externalQueries,
        'External prefix cache queries, in tokens.',
      ],
      external_prefix_cache_hits_total: [
        'transferredPromptTokens',
        'External prefix cache hits, in tokens.',
      ],
    }),
    ...histogramsOf({
      inter_token_latency_seconds: ['interToken', 'inter-token latency in seconds.'],
      request_time_per_output_token_seconds: [
        'perOutputToken',
        'time_per_output_token_seconds per request.',
      ],
      request_prefill_kv_computed_tokens: [
        'requestComputedTokens',
        'new KV tokens computed during prefill.',
      ],
      request_num_preemptions: ['requestPreemptions', 'preemptions per request.'],
    }),
    labelled('gauge', 'engine_sleep_state', {
      help: 'Engine sleep state; awake = 0 means engine is sleeping.',
      label: 'sleep_state',
      values: {
        awake: ({ engine }) => Number(!engine.asleep),
        weights_offloaded: ({ engine }) => Number(engine.asleep),
        discard_all: () => 0,
      },
    }),
    ...LORA_RESIDENCY,
    ...HOST_TIER,
  ],
};

/** vLLM V1 as of 2025 (v0.9 to v0.11), with old aliases in addition to the new names. */
export const VLLM_2025: Dialect = {
  prefix: 'vllm:',
  labels,
  families: [
    ...COMMON,
    ...series('gauge', {
      gpu_cache_usage_perc: [kvUsage, 'GPU KV-cache usage. 1 means 100 percent usage.'],
    }),
    ...series('counter', {
      gpu_prefix_cache_queries_total: [
        'prefixQueriedTokens',
        'GPU prefix cache queries, in terms of number of queried tokens.',
      ],
      gpu_prefix_cache_hits_total: [
        'prefixHitTokens',
        'GPU prefix cache hits, in terms of number of cached tokens.',
      ],
    }),
    ...histogramsOf({
      time_per_output_token_seconds: ['interToken', 'time per output token in seconds.'],
      inter_token_latency_seconds: ['interToken', 'inter-token latency in seconds.'],
      time_per_prefill_token_request_seconds: [
        'perPrefillToken',
        'time per prefill token per request.',
      ],
    }),
  ],
};

/**
 * Host memory is asked for all that the accelerator does not have; other engines, for what comes.
 */
function externalQueries({ engine, stats }: MetricsSource): number {
  if (engine.kv.host === undefined) return stats.transferredPromptTokens;
  return stats.prefixQueriedTokens - stats.prefixHitTokens;
}

function loraInfo({ lorasInUse, lorasMax }: MetricsSource): Info {
  if (lorasMax === 0) return [];
  return lorasInUse().map(({ running: used, waiting: wanted, timestamp }) => ({
    labels: {
      max_lora: String(lorasMax),
      running_lora_adapters: used,
      waiting_lora_adapters: wanted,
    },
    value: timestamp,
  }));
}

/** Without model_name, as in vLLM. */
function cacheConfig({ blockTokens, kvBlocks, rank, prefixCaching }: MetricsSource): Info {
  const labels = {
    block_size: String(blockTokens),
    cache_dtype: 'auto',
    enable_prefix_caching: prefixCaching ? 'True' : 'False',
    engine: String(rank),
    gpu_memory_utilization: '0.92',
    is_attention_free: 'False',
    num_cpu_blocks: 'None',
    num_gpu_blocks: String(kvBlocks),
    num_gpu_blocks_override: 'None',
    prefix_caching_hash_algo: 'sha256',
    sliding_window: 'None',
    swap_space: '4',
  };
  return [{ value: 1, labels }];
}
