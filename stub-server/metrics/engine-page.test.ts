import { describe, expect, it } from 'vitest';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { checkMetrics, fetchPromtool } from '../../test/support/programs/promtool.ts';
import { Engine } from '../engine/engine.ts';
import { latencyModel } from '../engine/latency-model.ts';
import { LORA_DEFAULTS } from '../engine/lora-slots.ts';
import { PRESETS } from '../presets/presets.ts';
import { createMetricsPage, DIALECTS, type DialectName } from './engine-page.ts';
import { EngineStats } from './engine-stats.ts';
import { lorasInUse } from './loras-in-use.ts';

/**
 * A page after some traffic: answers of several lengths, one aborted, one still waiting for its
 * adapter.
 */
function pageOf(dialect: DialectName): string {
  const clock = new SimulatedClock({ epoch: 1_700_000_000_000 });
  const stats = new EngineStats(131_072);
  const engine = new Engine({
    clock,
    latency: latencyModel(PRESETS.study.latency),
    observer: stats,
    kvBlocks: 8192,
    blockTokens: 16,
    sequencesMax: 16,
    batchedTokensMax: 2048,
    admissionMs: 0,
    loras: { ...LORA_DEFAULTS, slots: 1, hostSlots: 2 },
    hostTier: { blocks: 100, gigabytesPerSecond: 1, setupMs: 0, bytesPerToken: 1000 },
  });
  for (const lora of ['a', 'idle']) engine.loras.load(lora);
  const source = {
    engine,
    stats,
    model: 'm',
    rank: 0,
    blockTokens: 16,
    kvBlocks: 8192,
    lorasMax: 1,
  };
  const page = createMetricsPage(DIALECTS[dialect], {
    ...source,
    prefixCaching: true,
    lorasInUse: () => lorasInUse(engine, () => clock.wallTime() / 1000),
    startSeconds: () => 0,
  });
  const blockHashes = Array.from({ length: 20 }, (_, index) => index + 1);
  for (const outputTokens of [1, 5, 40]) {
    stats.onParameters(1, 100);
    engine.submit({ promptTokens: 330, outputTokens, blockHashes });
    while (clock.step()) continue;
  }
  engine.submit({ promptTokens: 10, outputTokens: 5000, blockHashes: [], lora: 'a' });
  engine.submit({ promptTokens: 10, outputTokens: 5000, blockHashes: [], lora: 'b' });
  const aborted = engine.submit({ promptTokens: 10, outputTokens: 5000, blockHashes: [] });
  for (let step = 0; step < 30; step++) clock.step();
  aborted.abort();
  clock.step();
  return page();
}

/** Name → type and label names, read off a page; a histogram's parts under its own name. */
function schemaOf(page: string): ReadonlyMap<string, string> {
  const schema = new Map<string, string>();
  const types = new Map<string, string>();
  for (const line of page.split('\n')) {
    const [, kind, name = '', type = ''] = /^# (TYPE) (\S+) (\S+)$/.exec(line) ?? [];
    if (kind !== undefined) types.set(name, type);
    const [, sample = '', labels = ''] = /^([\w:]+)\{(.*)\} \S+$/.exec(line) ?? [];
    if (sample === '') continue;
    const base = types.has(sample) ? sample : sample.replace(/_(bucket|sum|count)$/, '');
    const names = [...labels.matchAll(/(\w+)="/g)]
      .map(([, label]) => label)
      .filter((label) => label !== 'le');
    schema.set(base, `${types.get(base) ?? 'untyped'}(${names.join(' ')})`);
  }
  return schema;
}

const ENGINE = 'engine model_name';

/** vLLM V1 in 2026, from its loggers. */
const VLLM_2026: Readonly<Record<string, string>> = {
  'vllm:num_requests_running': `gauge(${ENGINE})`,
  'vllm:num_requests_waiting': `gauge(${ENGINE})`,
  'vllm:num_requests_waiting_by_reason': `gauge(${ENGINE} reason)`,
  'vllm:kv_cache_usage_perc': `gauge(${ENGINE})`,
  'vllm:prefix_cache_queries_total': `counter(${ENGINE})`,
  'vllm:prefix_cache_hits_total': `counter(${ENGINE})`,
  'vllm:external_prefix_cache_queries_total': `counter(${ENGINE})`,
  'vllm:external_prefix_cache_hits_total': `counter(${ENGINE})`,
  'vllm:mm_cache_queries_total': `counter(${ENGINE})`,
  'vllm:mm_cache_hits_total': `counter(${ENGINE})`,
  'vllm:num_preemptions_total': `counter(${ENGINE})`,
  'vllm:prompt_tokens_total': `counter(${ENGINE})`,
  'vllm:prompt_tokens_by_source_total': `counter(${ENGINE} source)`,
  'vllm:prompt_tokens_cached_total': `counter(${ENGINE})`,
  'vllm:generation_tokens_total': `counter(${ENGINE})`,
  'vllm:request_success_total': 'counter(engine finished_reason model_name)',
  'vllm:iteration_tokens_total': `histogram(${ENGINE})`,
  'vllm:time_to_first_token_seconds': `histogram(${ENGINE})`,
  'vllm:inter_token_latency_seconds': `histogram(${ENGINE})`,
  'vllm:request_time_per_output_token_seconds': `histogram(${ENGINE})`,
  'vllm:e2e_request_latency_seconds': `histogram(${ENGINE})`,
  'vllm:request_queue_time_seconds': `histogram(${ENGINE})`,
  'vllm:request_inference_time_seconds': `histogram(${ENGINE})`,
  'vllm:request_prefill_time_seconds': `histogram(${ENGINE})`,
  'vllm:request_decode_time_seconds': `histogram(${ENGINE})`,
  'vllm:request_prompt_tokens': `histogram(${ENGINE})`,
  'vllm:request_generation_tokens': `histogram(${ENGINE})`,
  'vllm:request_max_num_generation_tokens': `histogram(${ENGINE})`,
  'vllm:request_params_max_tokens': `histogram(${ENGINE})`,
  'vllm:request_params_n': `histogram(${ENGINE})`,
  'vllm:request_prefill_kv_computed_tokens': `histogram(${ENGINE})`,
  'vllm:request_num_preemptions': `histogram(${ENGINE})`,
  'vllm:engine_sleep_state': `gauge(${ENGINE} sleep_state)`,
  'vllm:lora_adapter_loaded': 'gauge(adapter_name engine level model_name pinned)',
  'vllm:num_gpu_loaded_lora_adapters': `gauge(${ENGINE})`,
  'vllm:num_cpu_loaded_lora_adapters': `gauge(${ENGINE})`,
  'vllm:max_gpu_lora_adapters': `gauge(${ENGINE})`,
  'vllm:kv_offload_total_bytes_total': `counter(${ENGINE} transfer_type)`,
  'vllm:kv_offload_total_time_total': `counter(${ENGINE} transfer_type)`,
  'vllm:kv_offload_load_bytes_total': `counter(${ENGINE})`,
  'vllm:kv_offload_load_time_total': `counter(${ENGINE})`,
  'vllm:kv_offload_store_bytes_total': `counter(${ENGINE})`,
  'vllm:kv_offload_store_time_total': `counter(${ENGINE})`,
  'vllm:kv_offload_cpu_block_lookup_total': `counter(${ENGINE})`,
  'vllm:kv_offload_cpu_block_hit_total': `counter(${ENGINE})`,
  'vllm:kv_offload_cpu_block_miss_total': `counter(${ENGINE})`,
  'vllm:kv_offload_block_eviction_total': `counter(${ENGINE})`,
  'vllm:kv_offload_cpu_cache_usage_perc': `gauge(${ENGINE})`,
  'vllm:lora_requests_info': 'gauge(max_lora running_lora_adapters waiting_lora_adapters)',
};

describe('a metrics page', () => {
  it('has vLLM’s names, types and labels, all of them and no others', () => {
    const schema = new Map(schemaOf(pageOf('vllm')));
    expect(schema.get('vllm:cache_config_info')).toMatch(/^gauge\(block_size .*num_gpu_blocks /);
    expect(schema.get('vllm:cache_config_info')).not.toContain('model_name');
    schema.delete('vllm:cache_config_info');
    expect(Object.fromEntries(schema)).toEqual(VLLM_2026);
  });

  it('has the older vLLM’s aliases in its dialect', () => {
    const schema = schemaOf(pageOf('vllm-2025'));
    expect([...schema.keys()]).toEqual(
      expect.arrayContaining([
        'vllm:gpu_cache_usage_perc',
        'vllm:gpu_prefix_cache_queries_total',
        'vllm:time_per_output_token_seconds',
        'vllm:time_per_prefill_token_request_seconds',
      ]),
    );
    expect(schema.has('vllm:engine_sleep_state')).toBe(false);
  });

  it('counts what has happened', () => {
    const page = pageOf('vllm');
    const value = (sample: string): number => {
      const line = page.split('\n').find((each) => each.startsWith(sample));
      return Number(line?.split(' ').at(-1));
    };
    expect(value('vllm:num_requests_running')).toBe(1);
    expect(value('vllm:num_requests_waiting{')).toBe(1);
    expect(value('vllm:request_success_total{engine="0",finished_reason="length"')).toBe(3);
    expect(value('vllm:request_success_total{engine="0",finished_reason="abort"')).toBe(1);
    expect(value('vllm:prefix_cache_hits_total')).toBe(2 * 320);
    expect(value('vllm:prefix_cache_queries_total')).toBe(3 * 330 + 20);
    expect(value('vllm:request_generation_tokens_sum')).toBeGreaterThanOrEqual(46);
    expect(value('vllm:time_to_first_token_seconds_bucket{engine="0",le="0.02"')).toBeGreaterThan(
      0,
    );
    expect(page).toContain('running_lora_adapters="a",waiting_lora_adapters="b"} 1700000000.');
    expect(page).toContain('le="1.0"');
  });

  it('[B31] says which adapters are where, also idle ones, and how many slots there are', () => {
    const page = pageOf('vllm');
    // The second slot of host memory goes to the adapter that was used last.
    expect(
      [...page.matchAll(/^vllm:lora_adapter_loaded\{(.*)\} 1\.0$/gm)].map(([, of]) => of),
    ).toEqual([
      'adapter_name="idle",engine="0",level="cpu",model_name="m",pinned="false"',
      'adapter_name="a",engine="0",level="gpu",model_name="m",pinned="false"',
    ]);
    expect(page).toContain('num_gpu_loaded_lora_adapters{engine="0",model_name="m"} 1.0');
    expect(page).toContain('num_cpu_loaded_lora_adapters{engine="0",model_name="m"} 2.0');
    expect(page).toContain('max_gpu_lora_adapters{engine="0",model_name="m"} 1.0');
  });

  it('[B28] counts what is in host memory and what moves to and from it', () => {
    const page = pageOf('vllm');
    expect(page).toContain('{engine="0",model_name="m",transfer_type="GPU_to_CPU"} 320000.0');
    expect(page).toContain('kv_offload_cpu_cache_usage_perc{engine="0",model_name="m"} 0.2');
  });

  it('escapes what a label value must not have', () => {
    const clock = new SimulatedClock();
    const stats = new EngineStats();
    const engine = new Engine({
      clock,
      latency: () => 1,
      observer: stats,
      kvBlocks: 10,
      blockTokens: 16,
      sequencesMax: 1,
      batchedTokensMax: 16,
      admissionMs: 0,
    });
    const source = {
      engine,
      stats,
      model: 'a"b\\c\n',
      rank: 0,
      blockTokens: 16,
      kvBlocks: 10,
      lorasMax: 0,
    };
    const page = createMetricsPage(DIALECTS.vllm, {
      ...source,
      prefixCaching: true,
      lorasInUse: () => [],
      startSeconds: () => 0,
    })();

    expect(page).toContain('model_name="a\\"b\\\\c\\n"');
  });

  it('is accepted by promtool in every dialect', async ({ skip }) => {
    const promtool = await fetchPromtool();
    if (promtool === undefined && process.env['CI'] === undefined)
      skip('promtool cannot be had here');
    for (const dialect of Object.keys(DIALECTS) as DialectName[]) {
      const report = await checkMetrics(promtool ?? 'promtool', pageOf(dialect));
      const errors = report.split('\n').filter((line) => /error|invalid|unexpected/i.test(line));
      expect(errors, dialect).toEqual([]);
    }
  });
});
