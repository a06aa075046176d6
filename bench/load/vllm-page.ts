/** The values that change from one scrape of a server to the next. */
export interface PageState {
  readonly running: number;
  readonly waiting: number;
  /** 0 to 1. */
  readonly kvUsage: number;
  /**
   * Requests finished so far: moves every counter and histogram, and with them the length of the
   * page.
   */
  readonly finished: number;
}

const MODEL = 'm';
const LABELS = `engine="0",model_name="${MODEL}"`;
const LATENCY_BOUNDS = [
  0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680,
];
const TOKEN_BOUNDS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000,
  500_000,
];
const TTFT_BOUNDS = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80,
];
const ITERATION_BOUNDS = [1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384];

/** A metrics page like vLLM's, of a real page's size: 315 lines, 23 KB. */
export function vllmPage({ running, waiting, kvUsage, finished }: PageState): string {
  const head = [
    ...plain('python_gc_objects_collected_total', 'counter', [
      '{generation="0"} 17841.0',
      '{generation="1"} 2291.0',
    ]),
    ...plain('process_virtual_memory_bytes', 'gauge', [' 2.6394316800e+010']),
    ...plain('process_resident_memory_bytes', 'gauge', [' 1.21131008e+09']),
    ...plain('process_cpu_seconds_total', 'counter', [` ${(31.4 + finished / 7).toFixed(2)}`]),
    ...gauge('num_requests_running', running),
    ...gauge('num_requests_waiting', waiting),
    ...gauge('kv_cache_usage_perc', kvUsage),
    ...plain('vllm:lora_requests_info', 'gauge', [
      '{max_lora="4",running_lora_adapters="sql,chat",waiting_lora_adapters=""} 1.79e+09',
    ]),
    ...plain('vllm:cache_config_info', 'gauge', [
      '{block_size="16",cache_dtype="auto",calculate_kv_scales="False",cpu_offload_gb="0",enable_prefix_caching="True",engine="0",gpu_memory_utilization="0.9",is_attention_free="False",num_cpu_blocks="None",num_gpu_blocks="27512",num_gpu_blocks_override="None",prefix_caching_hash_algo="sha256",sliding_window="None",swap_space="4",swap_space_bytes="4294967296"} 1.0',
    ]),
    ...counter('prefix_cache_queries_total', finished * 811),
    ...counter('prefix_cache_hits_total', finished * 397),
    ...counter('num_preemptions_total', Math.floor(finished / 97)),
    ...counter('prompt_tokens_total', finished * 811),
    ...counter('generation_tokens_total', finished * 173),
    ...plain(
      'vllm:request_success_total',
      'counter',
      ['stop', 'length', 'abort', 'error', 'repetition'].map(
        (reason) => `{${LABELS},finished_reason="${reason}"} ${finished}.0`,
      ),
    ),
  ];
  const histograms = [
    ...histogram('time_to_first_token_seconds', TTFT_BOUNDS, finished),
    ...histogram('iteration_tokens_total', ITERATION_BOUNDS, finished),
    ...histogram('inter_token_latency_seconds', TTFT_BOUNDS, finished),
    ...[
      'e2e_request_latency_seconds',
      'request_queue_time_seconds',
      'request_inference_time_seconds',
      'request_prefill_time_seconds',
      'request_decode_time_seconds',
    ].flatMap((name) => histogram(name, LATENCY_BOUNDS, finished)),
    ...['request_prompt_tokens', 'request_generation_tokens', 'request_params_max_tokens'].flatMap(
      (name) => histogram(name, TOKEN_BOUNDS, finished),
    ),
  ];
  return `${[...head, ...histograms].join('\n')}\n`;
}

function plain(name: string, type: string, series: readonly string[]): readonly string[] {
  const help = `# HELP ${name} Help.`;
  return [help, `# TYPE ${name} ${type}`, ...series.map((each) => `${name}${each}`)];
}

function gauge(name: string, value: number): readonly string[] {
  return plain(`vllm:${name}`, 'gauge', [
    `{${LABELS}} ${Number.isInteger(value) ? `${value}.0` : value}`,
  ]);
}

function counter(name: string, value: number): readonly string[] {
  return plain(`vllm:${name}`, 'counter', [`{${LABELS}} ${value}.0`]);
}

function histogram(name: string, bounds: readonly number[], count: number): readonly string[] {
  const buckets = bounds.map((bound, index) => {
    const below = Math.floor((count * (index + 1)) / bounds.length);
    return `_bucket{${LABELS},le="${bound}"} ${below}.0`;
  });
  return plain(`vllm:${name}`, 'histogram', [
    ...buckets,
    `_bucket{${LABELS},le="+Inf"} ${count}.0`,
    `_count{${LABELS}} ${count}.0`,
    `_sum{${LABELS}} ${(count * 1.37).toFixed(6)}`,
  ]);
}
