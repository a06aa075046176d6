import { describe, expect, it } from 'vitest';
import { page, read, reader, usedFrom, VLLM_LOAD } from '../../../../test/support/metrics-pages.ts';
import { configuredMapping, ENGINES, engineConfigSchema } from './engine-metrics.ts';
import { PageReader } from './page-reader.ts';
import type { PageReading, PageRefusal } from './reading.ts';

describe('a page without a series', () => {
  const LORA = 'vllm:lora_requests_info{max_lora="4",running_lora_adapters="a"} 1';
  const adaptersOf = (reading: PageReading | PageRefusal | undefined): number =>
    usedFrom(reading)?.lora?.running.size ?? 0;

  it('[B155] is searched for it again with every eighth page', () => {
    const vllm = reader('vllm');
    const without = page(VLLM_LOAD.trim().split('\n'));
    const having = page([...VLLM_LOAD.trim().split('\n'), LORA]);
    vllm.read(without);
    const seen = Array.from({ length: 8 }, () => adaptersOf(vllm.read(having)));
    expect(seen).toEqual([0, 0, 0, 0, 0, 0, 0, 1]);
    const workBefore = vllm.workBytes;
    vllm.read(without);
    const searched = vllm.workBytes - workBefore;
    vllm.read(without);
    expect(vllm.workBytes - workBefore - searched).toBeLessThan(searched);
  });

  it("[D507] of vLLM's NixlConnector is searched for it again with every 200th page", () => {
    const vllm = reader('vllm');
    const load = VLLM_LOAD.trim().split('\n');
    const having = page([...load, 'vllm:nixl_num_failed_transfers_total{engine="0"} 3']);
    vllm.read(page(load));
    const counts = Array.from({ length: 201 }, () => usedFrom(vllm.read(having))?.custom.size);
    expect([counts.indexOf(1), counts.at(-1)]).toEqual([199, 1]);
    expect(usedFrom(vllm.read(having))?.custom.get('NixlFailedTransfers')).toBe(3);
  });

  it('[B155] but for its load is searched always', () => {
    const vllm = reader('vllm');
    vllm.read(page(['vllm:num_requests_running 1']));
    const reading = usedFrom(vllm.read(page(VLLM_LOAD.trim().split('\n'))));
    expect(reading?.waiting).toBe(1);
  });
});

describe('PageReader', () => {
  it("reads vLLM's page", () => {
    const lines = [
      '# TYPE vllm:num_requests_running gauge',
      'vllm:num_requests_running{engine="0",model_name="m"} 7.0',
      'vllm:num_requests_waiting{engine="0",model_name="m"} 3.0',
      'vllm:num_requests_waiting_by_reason{engine="0",reason="capacity"} 99.0',
      'vllm:gpu_cache_usage_perc{engine="0",model_name="m"} 0.1',
      'vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.25',
      'vllm:cache_config_info{block_size="16",cache_dtype="auto",num_gpu_blocks="27512"} 1.0',
      'vllm:lora_requests_info{max_lora="4",running_lora_adapters="old",waiting_lora_adapters=""} 1.7e+09',
      'vllm:lora_requests_info{max_lora="4",running_lora_adapters="sql, chat",waiting_lora_adapters="law"} 1.8e+09',
    ];
    expect(read('vllm', lines)).toEqual({
      custom: new Map(),
      startedAtS: undefined,
      engines: 1,
      waiting: 3,
      running: 7,
      kvUsage: 0.25,
      cache: { blockTokens: 16, blocks: 27_512 },
      lora: { running: new Set(['sql', 'chat']), waiting: new Set(['law']), max: 4 },
    });
  });

  it("reads vLLM's older name for KV usage", () => {
    const lines = ['vllm:num_requests_running 1', 'vllm:gpu_cache_usage_perc 0.5'];
    expect(read('vllm', lines)?.kvUsage).toBe(0.5);
  });

  it.each([':', '_'])(
    "[D384] reads SGLang's page with names like sglang%snum_queue_reqs",
    (sign) => {
      const lines = [
        `sglang${sign}num_running_reqs{model_name="m"} 2.0`,
        `sglang${sign}num_queue_reqs{model_name="m"} 1.0`,
        `sglang${sign}token_usage{model_name="m"} 0.125`,
        `sglang${sign}cache_config_info{num_pages="1000",page_size="64"} 1.0`,
      ];
      expect(read('sglang', lines)).toEqual({
        custom: new Map(),
        startedAtS: undefined,
        engines: 1,
        waiting: 1,
        running: 2,
        kvUsage: 0.125,
        cache: { blockTokens: 64, blocks: 1000 },
        lora: undefined,
      });
    },
  );

  it.each([':', '_'])(
    '[G178] counts no request of SGLang twice where sglang%snum_queue_reqs is there for each priority, too',
    (sign) => {
      const labels = ['priority=""', 'priority="0"', 'priority="5"'].map(
        (each) => `{dp_rank="0",${each}}`,
      );
      const counts = (name: string, values: readonly number[]): readonly string[] =>
        values.map((value, at) => `sglang${sign}${name}${labels[at]} ${value}.0`);
      const lines = [
        ...counts('num_running_reqs', [7, 4, 3]),
        ...counts('num_queue_reqs', [9, 8, 1]),
      ];
      expect(read('sglang', lines)).toMatchObject({ running: 7, waiting: 9 });
      const ranks = [0, 1].map((rank) => `sglang${sign}num_queue_reqs{dp_rank="${rank}"} 2.0`);
      expect(read('sglang', ranks)).toMatchObject({ waiting: 4 });
    },
  );

  it.each([':', '_'])(
    "[D501] reads the size of SGLang's cache from the gauges of its newer releases, sglang%spage_size",
    (sign) => {
      const lines = [
        `sglang${sign}page_size{tp_rank="0"} 64.0`,
        `sglang${sign}num_pages{tp_rank="0"} 1000.0`,
        `sglang${sign}num_running_reqs{tp_rank="0"} 2.0`,
      ];
      expect(read('sglang', lines)?.cache).toEqual({ blockTokens: 64, blocks: 1000 });
    },
  );

  it("[D501] reads ATOM's page", () => {
    const lines = [
      'atom:requests_running 3',
      'atom:requests_waiting 7',
      'atom:kv_cache_usage_ratio 0.25',
      'atom:cache_config_info{block_size="16",num_gpu_blocks="500"} 1.0',
    ];
    expect(read('atom', lines)).toMatchObject({
      waiting: 7,
      running: 3,
      kvUsage: 0.25,
      cache: { blockTokens: 16, blocks: 500 },
    });
  });

  it.each([
    [
      'lmdeploy',
      [
        'lmdeploy:num_requests_running',
        'lmdeploy:num_requests_waiting',
        'lmdeploy:gpu_cache_usage_perc',
      ],
    ],
    ['tgi', ['tgi_batch_current_size', 'tgi_queue_size']],
    [
      'llama.cpp',
      [
        'llamacpp:requests_processing',
        'llamacpp:requests_deferred',
        'llamacpp:kv_cache_usage_ratio',
      ],
    ],
  ])('[G179] reads the load of a page of %s', (engine, names) => {
    const values = ['4', '3', '0.25'];
    const lines = names.map((name, at) => `${name} ${values[at]}`);
    const [running, waiting, kvUsage] = names.map((_, at) => Number(values[at]));
    expect(read(engine, lines)).toMatchObject({ running, waiting, kvUsage });
    const readers = ENGINES.filter(({ name }) => read(name, lines) !== undefined);
    expect(readers.map(({ name }) => name)).toEqual([engine]);
  });

  it("reads trtllm-serve's page", () => {
    const lines = [
      'trtllm_num_requests_running{model_name="m"} 2.0',
      'trtllm_num_requests_waiting{model_name="m"} 1.0',
      'trtllm_kv_cache_utilization{model_name="m"} 0.5',
      'trtllm_kv_cache_tokens_per_block{model_name="m"} 32.0',
      'trtllm_kv_cache_max_blocks{model_name="m"} 800.0',
    ];
    expect(read('trtllm-serve', lines)).toMatchObject({
      waiting: 1,
      running: 2,
      kvUsage: 0.5,
      cache: { blockTokens: 32, blocks: 800 },
    });
  });

  it("reads Triton's TensorRT-LLM page, where labels distinguish the series", () => {
    const lines = [
      'nv_trt_llm_request_metrics{model="m",request_type="waiting",version="1"} 4',
      'nv_trt_llm_request_metrics{model="m",request_type="scheduled",version="1"} 9',
      'nv_trt_llm_request_metrics{model="m",request_type="max",version="1"} 512',
      'nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="fraction",model="m"} 0.5',
      'nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="tokens_per",model="m"} 64',
      'nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="used",model="m"} 7',
      'nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="max",model="m"} 700',
    ];
    expect(read('triton-tensorrt-llm', lines)).toMatchObject({
      waiting: 4,
      running: 9,
      kvUsage: 0.5,
      cache: { blockTokens: 64, blocks: 700 },
    });
  });

  it("reads plain Triton's page, which says nothing of a KV cache", () => {
    const lines = [
      'nv_inference_pending_request_count{model="m",version="1"} 5',
      'nv_inference_exec_count{model="m",version="1"} 2',
    ];
    expect(read('triton', lines)).toMatchObject({ waiting: 5, running: 2, kvUsage: undefined });
  });

  it.each([
    ['an empty page', ['']],
    ['an error page', ['<html>502 Bad Gateway</html>']],
    ["another engine's page", ['sglang:num_running_reqs 2']],
    ['a page without load', ['vllm:cache_config_info{block_size="16",num_gpu_blocks="9"} 1.0']],
  ])('finds nothing on %s', (_, lines) => {
    expect(read('vllm', lines)).toBeUndefined();
  });

  it('bounds KV usage at 1 and takes no block count that is none', () => {
    const reading = read('vllm', [
      'vllm:kv_cache_usage_perc 1.5',
      'vllm:cache_config_info{block_size="16",num_gpu_blocks="None"} 1.0',
    ]);
    expect(reading?.kvUsage).toBe(1);
    expect(reading?.cache).toBeUndefined();
  });

  it('gives the same LoRA and cache objects until they change', () => {
    const keep = reader('vllm');
    const lines = (time: number, adapter: string, blocks: number): Buffer =>
      page([
        'vllm:num_requests_running 1',
        `vllm:lora_requests_info{max_lora="4",running_lora_adapters="${adapter}"} ${time}`,
        `vllm:cache_config_info{block_size="16",num_gpu_blocks="${blocks}"} 1.0`,
      ]);
    const first = usedFrom(keep.read(lines(1, 'a', 10)));
    const second = usedFrom(keep.read(lines(2, 'a', 10)));
    expect(second?.lora).toBe(first?.lora);
    expect(second?.cache).toBe(first?.cache);
    const third = usedFrom(keep.read(lines(3, 'b', 20)));
    expect(third?.lora?.running).toEqual(new Set(['b']));
    expect(third?.cache?.blocks).toBe(20);
    expect(keep.read(page(['vllm:num_requests_running 1']))).toMatchObject({
      lora: undefined,
      cache: undefined,
    });
  });
});

describe('engineConfigSchema', () => {
  it('[D501] takes the one size of a cache from a label and the other from a gauge', () => {
    const config = engineConfigSchema.parse({
      name: 'ours',
      queuedRequestsSpec: 'depth',
      cacheInfoSpec: 'info',
      cacheNumBlocksSpec: 'blocks',
      customMetrics: [{ attributeKey: 'rare', metricSpec: 'rare', optional: true }],
    });
    const lines = ['depth 1', 'info{block_size="32",num_gpu_blocks="7"} 1', 'blocks 900'];
    const reading = usedFrom(new PageReader(configuredMapping(config)).read(page(lines)));
    expect(reading?.cache).toEqual({ blockTokens: 32, blocks: 900 });
  });

  it('maps an engine of the user by its own names', () => {
    const config = engineConfigSchema.parse({
      name: 'ours',
      queuedRequestsSpec: 'depth{pool="main", kind=queue}',
      kvUsageSpec: 'used',
      cacheInfoSpec: 'info',
      cacheBlockSizeLabelName: 'size',
      cacheNumBlocksLabelName: 'count',
    });
    const lines = [
      'depth{kind="queue",pool="side"} 1',
      'depth{kind="queue",pool="main"} 2',
      'used 0.5',
      'info{count="9",size="8"} 1',
    ];
    expect(new PageReader(configuredMapping(config)).read(page(lines))).toMatchObject({
      waiting: 2,
      kvUsage: 0.5,
      cache: { blockTokens: 8, blocks: 9 },
    });
  });

  it('[D397] takes an empty spec for none', () => {
    const empty = { name: 'ours', kvUsageSpec: '', loraSpec: '', cacheInfoSpec: '' };
    expect(engineConfigSchema.parse(empty)).toEqual(engineConfigSchema.parse({ name: 'ours' }));
  });

  it.each(['a b', '{x=y}', 'a{x}', 'a{x=y', 'a{x=y}}', '1a'])('refuses the spec %j', (text) => {
    expect(() => engineConfigSchema.parse({ name: 'ours', kvUsageSpec: text })).toThrow('must be');
  });
});
