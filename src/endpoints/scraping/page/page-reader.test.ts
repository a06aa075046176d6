import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ENGINES, type EngineMapping, engineConfigSchema } from './engine-metrics.ts';
import { PageReader, type PageReading, type PageRefusal } from './page-reader.ts';

const SEED = 20_270_104;

const VLLM_LOAD = 'vllm:num_requests_running 1\nvllm:num_requests_waiting 1\n';

/** What fills pages that are made to take long. */
const HOSTILE = [
  ['empty lines', '\n'],
  ['comments', '#\n'],
  ['names that begin alike', 'vllm:num_requests_waiting_x 1\n'],
  ['one metric', 'vllm:num_requests_waiting 1\n'],
  ['adapters', 'vllm:lora_requests_info{running_lora_adapters="a"} 1\n'],
  ['labels', 'vllm:cache_config_info{a="",b="",c=""} 1\n'],
] as const;

function mappingOf(engine: string): EngineMapping {
  const mapping = ENGINES.find(({ name }) => name === engine);
  if (mapping === undefined) throw new Error(`no engine ${engine}`);
  return mapping;
}

function reader(engine: string): PageReader {
  return new PageReader(mappingOf(engine));
}

/** A line of a series such as `name{kind=used}` with further labels. */
function lineOf(series: string | undefined, labels: string, value: string): string | undefined {
  if (series === undefined) return undefined;
  const wanted = /\{(.*)=(.*)\}/.exec(series);
  const own = wanted === null ? '' : `,${wanted[1]}="${wanted[2]}"`;
  return `${series.replace(/\{.*/, '')}${labels.replace('}', `${own}}`)} ${value}`;
}

function read(engine: string, lines: readonly string[]): PageReading | undefined {
  return usedFrom(reader(engine).read(page(lines)));
}

function usedFrom(reading: PageReading | PageRefusal | undefined): PageReading | undefined {
  if (reading !== undefined && 'refused' in reading) throw new Error(reading.refused);
  return reading;
}

function page(lines: readonly string[]): Buffer {
  return Buffer.from(`${lines.join('\n')}\n`);
}

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

  it('adds up the queues of data-parallel engines and takes the fullest memory', () => {
    const lines = [0, 1].flatMap((engine) => [
      `vllm:num_requests_running{engine="${engine}"} ${engine + 1}`,
    ]);
    const usage = [0.75, 0.5].map((each, n) => `vllm:kv_cache_usage_perc{engine="${n}"} ${each}`);
    expect(read('vllm', [...lines, ...usage])).toMatchObject({ running: 3, kvUsage: 0.75 });
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
        waiting: 1,
        running: 2,
        kvUsage: 0.125,
        cache: { blockTokens: 64, blocks: 1000 },
        lora: undefined,
      });
    },
  );

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

  it("reads Triton's TensorRT-LLM page, where labels tell the series apart", () => {
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

  it("reads plain Triton's page, which knows of no KV cache", () => {
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

  it('[V40] refuses a page with a load that cannot be, in every dialect', () => {
    const good = fc.double({ min: 0, max: 1, noNaN: true }).map(String);
    const bad = fc.oneof(
      fc.constantFrom('NaN', '+Inf', '-Inf', '1e400', '-1', '-0.001', '1e13', 'none', ''),
      fc.double({ min: -1e300, max: -1e-300 }).map(String),
      fc.string({ unit: fc.constantFrom('x', '-', '_'), minLength: 1, maxLength: 4 }),
    );
    const labels = fc.constantFrom('{engine="0"}', '{engine="1",model_name="m"}');
    const property = fc.property(
      fc.constantFrom(...ENGINES),
      fc.array(fc.tuple(labels, fc.oneof({ weight: 9, arbitrary: good }, bad)), {
        minLength: 3,
        maxLength: 9,
      }),
      (mapping, values) => {
        const metrics = [mapping.waiting[0], mapping.running[0], mapping.kvUsage[0]];
        const lines = metrics.flatMap((series, index) =>
          values
            .filter((_, each) => each % 3 === index)
            .flatMap(([at, value]) => lineOf(series, at, value) ?? []),
        );
        const reading = new PageReader(mapping).read(page(lines));
        const allGood = lines.every((line) => /^\S+ (0|1|[0-9.]+(e-[0-9]+)?)$/.test(line));
        if (allGood) expect(usedFrom(reading)).toMatchObject({ waiting: expect.any(Number) });
        else expect(reading === undefined || 'refused' in reading).toBe(true);
      },
    );
    fc.assert(property, { seed: SEED, numRuns: 2000 });
  });

  it('[V40] reads any page as nothing, as refused, or as values that can be', () => {
    const names = ENGINES.flatMap((each) => [
      ...each.waiting,
      ...each.running,
      ...each.kvUsage,
      each.lora,
      ...(each.cacheInfo ?? []),
      each.blockTokens,
      each.blocks,
      'process_start_time_seconds',
    ]).filter((name) => name !== undefined);
    const label = fc.constantFrom('max_lora', 'running_lora_adapters', 'block_size', 'page_size');
    const word = fc.constantFrom('1e400', '-1', 'NaN', '16', '1.5', 'None', '9e99', ',,', '');
    const lines = fc.array(
      fc.tuple(fc.constantFrom(...names), label, word, word).map(([name, key, text, value]) => {
        const bare = name.replace(/\{.*/, '');
        const more = /\{(.*)=(.*)\}/.exec(name);
        const also = more === null ? '' : `,${more[1]}="${more[2]}"`;
        return `${bare}{${key}="${text}"${also}} ${value}`;
      }),
      { maxLength: 12 },
    );
    const property = fc.property(fc.constantFrom(...ENGINES), lines, (mapping, each) => {
      const reading = new PageReader(mapping).read(page(each));
      if (reading === undefined || 'refused' in reading) return;
      const { waiting = 0, running = 0, kvUsage = 0, cache, lora, startedAtS = 0 } = reading;
      expect([waiting, running].every((value) => value >= 0 && value <= 1e12)).toBe(true);
      expect(kvUsage >= 0 && kvUsage <= 1).toBe(true);
      for (const count of [cache?.blockTokens, cache?.blocks, lora?.max]) {
        expect(count === undefined || (Number.isInteger(count) && count >= 0)).toBe(true);
      }
      expect(Number.isFinite(startedAtS)).toBe(true);
    });
    fc.assert(property, { seed: SEED, numRuns: 2000 });
  });

  it('[V40] leaves out a cache size, adapters and attributes that cannot be, and keeps the load', () => {
    const mapping = { ...mappingOf('vllm'), custom: [{ attribute: 'p', series: 'mine' }] };
    const reading = usedFrom(
      new PageReader(mapping).read(
        page([
          'vllm:num_requests_running 3',
          'vllm:cache_config_info{block_size="1e400",num_gpu_blocks="9"} 1',
          `vllm:lora_requests_info{max_lora="1e400",running_lora_adapters="a,${'x'.repeat(300)}"} 1`,
          'mine +Inf',
          'process_start_time_seconds 1e300',
        ]),
      ),
    );
    expect(reading).toMatchObject({ running: 3, cache: undefined, startedAtS: undefined });
    expect(reading?.custom.size).toBe(0);
    expect(reading?.lora).toEqual({ running: new Set(['a']), waiting: new Set(), max: 0 });
  });

  it('[V41] keeps at most 1,024 of 100,000 adapters, and none of a line that is too long', () => {
    const names = (count: number): string =>
      Array.from({ length: count }, (_, index) => `a${index}`).join(',');
    const lora = (count: number): PageReading | undefined =>
      read('vllm', [
        'vllm:num_requests_running 1',
        `vllm:lora_requests_info{max_lora="4",running_lora_adapters="${names(count)}"} 1`,
      ]);
    expect(lora(5000)?.lora?.running.size).toBe(1024);
    expect(lora(100_000)?.lora).toBeUndefined();
    expect(lora(100_000)?.running).toBe(1);
  });

  it.each(HOSTILE)('[V41] takes work in proportion to the page: %s', (_, fill) => {
    const workOf = (bytes: number): number => {
      const hostile = page([`${VLLM_LOAD}${fill.repeat(bytes / fill.length)}${VLLM_LOAD}`]);
      const each = reader('vllm');
      each.read(hostile);
      return each.workBytes;
    };
    const [small, large] = [workOf(64 * 1024), workOf(1024 * 1024)];
    expect(large).toBeLessThan(17 * small + 1024 * 1024);
    expect(large).toBeLessThan(128 * 1024 * 1024);
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
  it('maps an engine of the user by its own names', () => {
    const mapping = engineConfigSchema.parse({
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
    expect(new PageReader(mapping).read(page(lines))).toMatchObject({
      waiting: 2,
      kvUsage: 0.5,
      cache: { blockTokens: 8, blocks: 9 },
    });
  });

  it.each(['', 'a b', '{x=y}', 'a{x}', 'a{x=y', 'a{x=y}}', '1a'])('refuses the spec %j', (text) => {
    expect(() => engineConfigSchema.parse({ name: 'ours', kvUsageSpec: text })).toThrow('must be');
  });
});
