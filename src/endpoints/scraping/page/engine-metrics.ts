import { z } from 'zod';
import { readSpec } from './series-spec.ts';

/**
 * Series of an engine's page, as `readSpec` reads them. Where there are several, the first found
 * counts.
 */
export interface EngineMapping {
  readonly name: string;
  readonly waiting: readonly string[];
  readonly running: readonly string[];
  readonly kvUsage: readonly string[];
  readonly lora?: string | undefined;
  /** Series with block size and block count in their labels. */
  readonly cacheInfo?: readonly string[];
  readonly blockTokensLabel?: string | undefined;
  readonly blocksLabel?: string | undefined;
  /** Series with block size and block count as values, which count before the labels. */
  readonly blockTokens?: readonly string[];
  readonly blocks?: readonly string[];
  /** Further series. Each value becomes an attribute with this name. */
  readonly custom?: readonly CustomMetric[];
}

interface CustomMetric {
  readonly attribute: string;
  readonly series: string;
  /** While pages lack the series, one of so many is searched for it; each where not given. */
  readonly everyPages?: number;
}

/** Ten seconds or so of pages, where requests are. */
const SELDOM = 200;

/**
 * Failed transfers between prefill and decode servers, as attributes by the reference's names. Pages
 * of vLLM have these counters with its NixlConnector alone: the others are seldom searched for them.
 */
const NIXL_FAILURES: readonly CustomMetric[] = [
  { attribute: 'NixlFailedTransfers', series: 'vllm:nixl_num_failed_transfers_total' },
  { attribute: 'NixlFailedNotifications', series: 'vllm:nixl_num_failed_notifications_total' },
  { attribute: 'NixlKVExpiredRequests', series: 'vllm:nixl_num_kv_expired_reqs_total' },
].map((each) => ({ ...each, everyPages: SELDOM }));

/**
 * The reference's mappings, vLLM's older name for KV usage, and what SGLang calls its metrics: they
 * have no colon behind its router and in some releases, and the size of the cache is in labels of
 * older releases and in gauges of newer ones.
 */
export const ENGINES: readonly EngineMapping[] = [
  {
    name: 'vllm',
    waiting: ['vllm:num_requests_waiting'],
    running: ['vllm:num_requests_running'],
    kvUsage: ['vllm:kv_cache_usage_perc', 'vllm:gpu_cache_usage_perc'],
    lora: 'vllm:lora_requests_info',
    cacheInfo: ['vllm:cache_config_info'],
    blockTokensLabel: 'block_size',
    blocksLabel: 'num_gpu_blocks',
    custom: NIXL_FAILURES,
  },
  {
    name: 'sglang',
    // With priorities each count is there for every priority, too, beside the total with none.
    waiting: ['sglang:num_queue_reqs{priority=""}', 'sglang_num_queue_reqs{priority=""}'],
    running: ['sglang:num_running_reqs{priority=""}', 'sglang_num_running_reqs{priority=""}'],
    kvUsage: ['sglang:token_usage', 'sglang_token_usage'],
    cacheInfo: ['sglang:cache_config_info', 'sglang_cache_config_info'],
    blockTokensLabel: 'page_size',
    blocksLabel: 'num_pages',
    blockTokens: ['sglang:page_size', 'sglang_page_size'],
    blocks: ['sglang:num_pages', 'sglang_num_pages'],
  },
  {
    name: 'atom',
    waiting: ['atom:requests_waiting'],
    running: ['atom:requests_running'],
    kvUsage: ['atom:kv_cache_usage_ratio'],
    cacheInfo: ['atom:cache_config_info'],
    blockTokensLabel: 'block_size',
    blocksLabel: 'num_gpu_blocks',
  },
  {
    name: 'trtllm-serve',
    waiting: ['trtllm_num_requests_waiting'],
    running: ['trtllm_num_requests_running'],
    kvUsage: ['trtllm_kv_cache_utilization'],
    blockTokens: ['trtllm_kv_cache_tokens_per_block'],
    blocks: ['trtllm_kv_cache_max_blocks'],
  },
  {
    name: 'triton-tensorrt-llm',
    waiting: ['nv_trt_llm_request_metrics{request_type=waiting}'],
    running: ['nv_trt_llm_request_metrics{request_type=scheduled}'],
    kvUsage: ['nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=fraction}'],
    blockTokens: ['nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=tokens_per}'],
    blocks: ['nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=max}'],
  },
  {
    name: 'lmdeploy',
    waiting: ['lmdeploy:num_requests_waiting'],
    running: ['lmdeploy:num_requests_running'],
    kvUsage: ['lmdeploy:gpu_cache_usage_perc'],
  },
  {
    name: 'tgi',
    waiting: ['tgi_queue_size'],
    running: ['tgi_batch_current_size'],
    kvUsage: [],
  },
  {
    name: 'llama.cpp',
    waiting: ['llamacpp:requests_deferred'],
    running: ['llamacpp:requests_processing'],
    // Releases until the middle of 2025 have it.
    kvUsage: ['llamacpp:kv_cache_usage_ratio'],
  },
  {
    name: 'triton',
    waiting: ['nv_inference_pending_request_count'],
    running: ['nv_inference_exec_count'],
    kvUsage: [],
  },
];

const namedSpec = z.string().refine((text) => readSpec(text) !== undefined, {
  message: 'must be name or name{label="value",label!="value",…}; =~ and !~ are not read',
});

/** An empty one is none, as in the reference. */
const optionalSpec = z
  .union([z.literal(''), namedSpec])
  .optional()
  .transform((given) => given || undefined);

/** A bound, as each one is searched for in every page. */
const CUSTOM_METRICS_MAX = 64;

/** An element of `engineConfigs` of the reference's `core-metrics-extractor`, under its names. */
export interface EngineConfig {
  readonly name: string;
  readonly queuedRequestsSpec?: string | undefined;
  readonly runningRequestsSpec?: string | undefined;
  readonly kvUsageSpec?: string | undefined;
  readonly loraSpec?: string | undefined;
  readonly cacheInfoSpec?: string | undefined;
  readonly cacheBlockSizeLabelName?: string | undefined;
  readonly cacheNumBlocksLabelName?: string | undefined;
  readonly cacheBlockSizeSpec?: string | undefined;
  readonly cacheNumBlocksSpec?: string | undefined;
  readonly customMetrics: readonly { readonly attributeKey: string; readonly metricSpec: string }[];
}

export const engineConfigSchema: z.ZodType<EngineConfig> = z.lazy(() =>
  z.strictObject({
    name: z.string().min(1),
    queuedRequestsSpec: optionalSpec,
    runningRequestsSpec: optionalSpec,
    kvUsageSpec: optionalSpec,
    loraSpec: optionalSpec,
    cacheInfoSpec: optionalSpec,
    cacheBlockSizeLabelName: z.string().optional(),
    cacheNumBlocksLabelName: z.string().optional(),
    cacheBlockSizeSpec: optionalSpec,
    cacheNumBlocksSpec: optionalSpec,
    customMetrics: z
      .array(
        z.strictObject({
          attributeKey: z.string().min(1),
          metricSpec: namedSpec,
          /** Read for compatibility, without effect: a page may always lack such a series. */
          optional: z.boolean().optional(),
        }),
      )
      .max(CUSTOM_METRICS_MAX)
      .default([]),
  }),
);

/** The series that pages of a configured engine are searched for. */
export function configuredMapping(config: EngineConfig): EngineMapping {
  return {
    name: config.name,
    waiting: listOf(config.queuedRequestsSpec),
    running: listOf(config.runningRequestsSpec),
    kvUsage: listOf(config.kvUsageSpec),
    lora: config.loraSpec,
    cacheInfo: listOf(config.cacheInfoSpec),
    blockTokensLabel: config.cacheBlockSizeLabelName,
    blocksLabel: config.cacheNumBlocksLabelName,
    blockTokens: listOf(config.cacheBlockSizeSpec),
    blocks: listOf(config.cacheNumBlocksSpec),
    custom: config.customMetrics.map(({ attributeKey: attribute, metricSpec: series }) => ({
      attribute,
      series,
    })),
  };
}

function listOf(spec: string | undefined): readonly string[] {
  return spec === undefined ? [] : [spec];
}
