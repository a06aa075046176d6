import { z } from 'zod';
import type { CacheConfig, LoraState } from '../../framework/keys.ts';
import { SeriesFinder, type SeriesSpec } from './prometheus-scan.ts';

/** Where one engine's page has what we want; each spec as `name` or `name{label=value}`. Several: the first found. */
export interface EngineMapping {
  readonly name: string;
  readonly waiting: readonly string[];
  readonly running: readonly string[];
  readonly kvUsage: readonly string[];
  readonly lora: string | undefined;
  /** Block size and count as labels of one series … */
  readonly cacheInfo: string | undefined;
  readonly blockTokensLabel: string | undefined;
  readonly blocksLabel: string | undefined;
  /** … or as series of their own. */
  readonly blockTokens: string | undefined;
  readonly blocks: string | undefined;
}

const NOTHING = {
  lora: undefined,
  cacheInfo: undefined,
  blockTokensLabel: undefined,
  blocksLabel: undefined,
  blockTokens: undefined,
  blocks: undefined,
} as const;

/** The engines' own names, as the reference maps them (and vLLM's older name for KV usage). */
export const ENGINES: readonly EngineMapping[] = [
  {
    ...NOTHING,
    name: 'vllm',
    waiting: ['vllm:num_requests_waiting'],
    running: ['vllm:num_requests_running'],
    kvUsage: ['vllm:kv_cache_usage_perc', 'vllm:gpu_cache_usage_perc'],
    lora: 'vllm:lora_requests_info',
    cacheInfo: 'vllm:cache_config_info',
    blockTokensLabel: 'block_size',
    blocksLabel: 'num_gpu_blocks',
  },
  {
    ...NOTHING,
    name: 'sglang',
    waiting: ['sglang:num_queue_reqs'],
    running: ['sglang:num_running_reqs'],
    kvUsage: ['sglang:token_usage'],
    cacheInfo: 'sglang:cache_config_info',
    blockTokensLabel: 'page_size',
    blocksLabel: 'num_pages',
  },
  {
    ...NOTHING,
    name: 'trtllm-serve',
    waiting: ['trtllm_num_requests_waiting'],
    running: ['trtllm_num_requests_running'],
    kvUsage: ['trtllm_kv_cache_utilization'],
    blockTokens: 'trtllm_kv_cache_tokens_per_block',
    blocks: 'trtllm_kv_cache_max_blocks',
  },
  {
    ...NOTHING,
    name: 'triton-tensorrt-llm',
    waiting: ['nv_trt_llm_request_metrics{request_type=waiting}'],
    running: ['nv_trt_llm_request_metrics{request_type=scheduled}'],
    kvUsage: ['nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=fraction}'],
    blockTokens: 'nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=tokens_per}',
    blocks: 'nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=max}',
  },
  {
    ...NOTHING,
    name: 'triton',
    waiting: ['nv_inference_pending_request_count'],
    running: ['nv_inference_exec_count'],
    kvUsage: [],
  },
];

const spec = z.string().regex(/^[a-zA-Z_:][\w:]*(\{.*\})?$/, 'must be name or name{label=value,…}');

/** `engineConfigs[]` of the reference's `core-metrics-extractor`. */
export const engineConfigSchema: z.ZodType<EngineMapping> = z
  .strictObject({
    name: z.string().min(1),
    queuedRequestsSpec: spec.optional(),
    runningRequestsSpec: spec.optional(),
    kvUsageSpec: spec.optional(),
    loraSpec: spec.optional(),
    cacheInfoSpec: spec.optional(),
    cacheBlockSizeLabelName: z.string().optional(),
    cacheNumBlocksLabelName: z.string().optional(),
    cacheBlockSizeSpec: spec.optional(),
    cacheNumBlocksSpec: spec.optional(),
    customMetrics: z.array(z.unknown()).optional(),
  })
  .transform((raw) => ({
    name: raw.name,
    waiting: raw.queuedRequestsSpec === undefined ? [] : [raw.queuedRequestsSpec],
    running: raw.runningRequestsSpec === undefined ? [] : [raw.runningRequestsSpec],
    kvUsage: raw.kvUsageSpec === undefined ? [] : [raw.kvUsageSpec],
    lora: raw.loraSpec,
    cacheInfo: raw.cacheInfoSpec,
    blockTokensLabel: raw.cacheBlockSizeLabelName,
    blocksLabel: raw.cacheNumBlocksLabelName,
    blockTokens: raw.cacheBlockSizeSpec,
    blocks: raw.cacheNumBlocksSpec,
  }));

/** What a page said; undefined where it said nothing. */
export interface PageReading {
  readonly waiting: number | undefined;
  readonly running: number | undefined;
  readonly kvUsage: number | undefined;
  readonly lora: LoraState | undefined;
  readonly cache: CacheConfig | undefined;
}

/** Reads one endpoint's pages by one engine's mapping. Keep it: it remembers where things stand. */
export class PageReader {
  readonly #mapping: EngineMapping;
  readonly #finders = new Map<string, SeriesFinder>();

  constructor(mapping: EngineMapping) {
    this.#mapping = mapping;
  }

  read(page: Buffer): PageReading {
    const { waiting, running, kvUsage } = this.#mapping;
    return {
      // One page for several data-parallel engines: their queues add up, the fullest memory counts.
      waiting: this.#combined(page, waiting, (a, b) => a + b),
      running: this.#combined(page, running, (a, b) => a + b),
      kvUsage: this.#combined(page, kvUsage, Math.max),
      lora: this.#lora(page),
      cache: this.#cache(page),
    };
  }

  #combined(
    page: Buffer,
    specs: readonly string[],
    combine: (a: number, b: number) => number,
  ): number | undefined {
    for (const each of specs) {
      let total: number | undefined;
      for (const { value } of this.#finder(each).samples(page)) {
        if (value >= 0) total = total === undefined ? value : combine(total, value);
      }
      if (total !== undefined) return total;
    }
    return undefined;
  }

  /** Each change leaves its own series; the one with the largest value, a time, is now. */
  #lora(page: Buffer): LoraState | undefined {
    if (this.#mapping.lora === undefined) return undefined;
    let latest:
      | { readonly labels: ReadonlyMap<string, string>; readonly value: number }
      | undefined;
    for (const sample of this.#finder(this.#mapping.lora).samples(page)) {
      if (latest === undefined || sample.value > latest.value) latest = sample;
    }
    if (latest === undefined) return undefined;
    return {
      running: names(latest.labels.get('running_lora_adapters')),
      waiting: names(latest.labels.get('waiting_lora_adapters')),
      max: Number(latest.labels.get('max_lora') ?? 0) || 0,
    };
  }

  #cache(page: Buffer): CacheConfig | undefined {
    const {
      cacheInfo,
      blockTokensLabel = '',
      blocksLabel = '',
      blockTokens,
      blocks,
    } = this.#mapping;
    if (cacheInfo !== undefined) {
      const labels = this.#finder(cacheInfo).samples(page)[0]?.labels;
      return cacheConfig(Number(labels?.get(blockTokensLabel)), Number(labels?.get(blocksLabel)));
    }
    if (blockTokens === undefined || blocks === undefined) return undefined;
    const size = this.#finder(blockTokens).samples(page)[0]?.value ?? 0;
    return cacheConfig(size, this.#finder(blocks).samples(page)[0]?.value ?? 0);
  }

  #finder(text: string): SeriesFinder {
    let finder = this.#finders.get(text);
    if (finder === undefined) {
      finder = new SeriesFinder(parseSpec(text));
      this.#finders.set(text, finder);
    }
    return finder;
  }
}

function cacheConfig(blockTokens: number, blocks: number): CacheConfig | undefined {
  return blockTokens > 0 && blocks > 0 ? { blockTokens, blocks } : undefined;
}

function names(list: string | undefined): ReadonlySet<string> {
  return new Set(
    (list ?? '')
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== ''),
  );
}

function parseSpec(text: string): SeriesSpec {
  const brace = text.indexOf('{');
  if (brace < 0) return { name: text, labels: new Map() };
  const labels = new Map<string, string>();
  for (const pair of text.slice(brace + 1, text.lastIndexOf('}')).split(',')) {
    const [name = '', value = ''] = pair.split('=', 2);
    if (name.trim() !== '') labels.set(name.trim(), value.trim().replace(/^"|"$/g, ''));
  }
  return { name: text.slice(0, brace), labels };
}
