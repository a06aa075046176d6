import type { Engine } from './engine.ts';
import type { EngineStats, StepHistogram } from './engine-stats.ts';

export interface MetricsPageOptions {
  readonly engine: Engine;
  readonly stats: EngineStats;
  readonly model: string;
  readonly loras: readonly string[];
  readonly lorasMax: number;
  readonly blockTokens: number;
  readonly kvBlocks: number;
  /** Seconds since the epoch in model time: the value of the LoRA series. */
  readonly wallSeconds: () => number;
}

/**
 * The /metrics page under vLLM's names. Written by hand: a process holds hundreds of engines, each scraped twenty
 * times a second, and a metrics library would cost more than the engines do.
 */
export function metricsPage(options: MetricsPageOptions): string {
  const { engine, stats, model, blockTokens, kvBlocks } = options;
  const labels = `model_name="${model}",engine="0"`;
  const line = (name: string, type: string, value: number): string =>
    `# HELP vllm:${name} ${name.replaceAll('_', ' ')}.\n# TYPE vllm:${name} ${type}\nvllm:${name}{${labels}} ${value}\n`;
  const parts = [
    line('num_requests_running', 'gauge', engine.runningCount),
    line('num_requests_waiting', 'gauge', engine.waitingCount),
    line('kv_cache_usage_perc', 'gauge', engine.kv.pool.usage),
    line('prefix_cache_queries_total', 'counter', stats.prefixQueriedTokens),
    line('prefix_cache_hits_total', 'counter', stats.prefixHitTokens),
    line('num_preemptions_total', 'counter', stats.preemptions),
    line('prompt_tokens_total', 'counter', stats.promptTokens),
    line('generation_tokens_total', 'counter', stats.generatedTokens),
    '# HELP vllm:request_success_total finished requests.\n# TYPE vllm:request_success_total counter\n',
    ...Object.entries(stats.finished).map(
      ([reason, count]) =>
        `vllm:request_success_total{${labels},finished_reason="${reason}"} ${count}\n`,
    ),
    histogram('time_to_first_token_seconds', labels, stats.ttftSeconds),
    histogram('inter_token_latency_seconds', labels, stats.interTokenSeconds),
    histogram('e2e_request_latency_seconds', labels, stats.requestSeconds),
    histogram('request_queue_time_seconds', labels, stats.queueSeconds),
    '# HELP vllm:cache_config_info Information of the LLMEngine CacheConfig\n# TYPE vllm:cache_config_info gauge\n',
    `vllm:cache_config_info{block_size="${blockTokens}",cache_dtype="auto",enable_prefix_caching="True",engine="0",gpu_memory_utilization="0.9",num_cpu_blocks="None",num_gpu_blocks="${kvBlocks}"} 1.0\n`,
    loraLine(options),
  ];
  return parts.join('');
}

function histogram(
  name: string,
  labels: string,
  { bounds, counts, sum, count }: StepHistogram,
): string {
  let text = `# HELP vllm:${name} ${name.replaceAll('_', ' ')}.\n# TYPE vllm:${name} histogram\n`;
  let cumulative = 0;
  bounds.forEach((bound, index) => {
    cumulative += counts[index] ?? 0;
    text += `vllm:${name}_bucket{${labels},le="${bound}"} ${cumulative}\n`;
  });
  text += `vllm:${name}_bucket{${labels},le="+Inf"} ${count}\n`;
  return `${text}vllm:${name}_sum{${labels}} ${sum}\nvllm:${name}_count{${labels}} ${count}\n`;
}

function loraLine({ engine, loras, lorasMax, wallSeconds }: MetricsPageOptions): string {
  if (loras.length === 0) return '';
  const { running } = engine.loras;
  return `# HELP vllm:lora_requests_info Running stats on lora requests.\n# TYPE vllm:lora_requests_info gauge\nvllm:lora_requests_info{max_lora="${lorasMax}",running_lora_adapters="${[...running].join(',')}",waiting_lora_adapters=""} ${wallSeconds()}\n`;
}
