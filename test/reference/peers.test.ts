import { describe, expect, it } from 'vitest';
import { ENGINES } from '../../src/endpoints/scraping/page/engine-metrics.ts';
import { PageReader } from '../../src/endpoints/scraping/page/page-reader.ts';
import { startPreciseIndex } from '../support/precise-index.ts';

/** The simulator's page: whole numbers, families in the order of their names, no engine label. */
const SIMULATOR_PAGE = `# HELP vllm:cache_config_info Information of the LLMEngine CacheConfig.
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{block_size="16",num_gpu_blocks="1024"} 1
# TYPE vllm:e2e_request_latency_seconds histogram
vllm:e2e_request_latency_seconds_bucket{model_name="m",le="+Inf"} 3
vllm:e2e_request_latency_seconds_sum{model_name="m"} 1.25
vllm:e2e_request_latency_seconds_count{model_name="m"} 3
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{model_name="m"} 0.125
# TYPE vllm:lora_requests_info gauge
vllm:lora_requests_info{max_lora="2",running_lora_adapters="a",waiting_lora_adapters=""} 1.787e+09
vllm:lora_requests_info{max_lora="2",running_lora_adapters="",waiting_lora_adapters=""} 1.786e+09
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{model_name="m"} 2
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{model_name="m"} 5
`;

const IDS = Array.from({ length: 8 }, (_, at) => 300 + at);

describe("the reference's simulator", () => {
  it('[D134] has a metrics page that is read', () => {
    const mapping = ENGINES.find(({ name }) => name === 'vllm');
    const reading = mapping && new PageReader(mapping).read(Buffer.from(SIMULATOR_PAGE));
    expect(reading).toMatchObject({
      waiting: 5,
      running: 2,
      kvUsage: 0.125,
      cache: { blockTokens: 16, blocks: 1024 },
      lora: { running: new Set(['a']), waiting: new Set(), max: 2 },
    });
  });

  it('[D584] has the adapters of the last second, as its page cannot order them', () => {
    const series = (running: string, waiting: string, time: string): string =>
      `vllm:lora_requests_info{max_lora="2",running_lora_adapters="${running}",waiting_lora_adapters="${waiting}"} ${time}\n`;
    const page = [
      SIMULATOR_PAGE.replaceAll(/^vllm:lora.*\n/gm, ''),
      series('', '', '1.795987743e+09'),
      series('', 'a', '1.795987747e+09'),
      series('a', 'a', '1.795987747e+09'),
      series('b', '', '1.795987745e+09'),
    ].join('');
    const mapping = ENGINES.find(({ name }) => name === 'vllm');
    const reader = mapping && new PageReader(mapping);
    const state = { running: new Set(['a']), waiting: new Set(['a']), max: 2 };
    const first = reader?.read(Buffer.from(page));
    expect(first).toMatchObject({ lora: state });
    const again = reader?.read(Buffer.from(page));
    const loraOf = (reading: typeof first): unknown => reading && 'lora' in reading && reading.lora;
    expect(loraOf(again)).toBe(loraOf(first));
  });

  it.each([
    ['completions', [{ token_ids: IDS }]],
    ['chats, with features', { token_ids: IDS, features: null }],
  ])('[D134] answers render requests for %s, and its events then match', async (_what, answer) => {
    const body = new TextEncoder().encode(JSON.stringify(answer));
    const { add, publisher, request, match, clock } = startPreciseIndex(
      { tokenProcessorConfig: { blockSizeTokens: 4 } },
      () => ({ status: 200, body }),
    );
    const endpoint = add('10.0.0.1');
    const fields = [[11n, 12n], 0, IDS, 4, null, 'GPU'];
    publisher('tcp://10.0.0.1:5557', 'kv@10.0.0.1:8000@m', 1)(['BlockStored', ...fields]);
    const asked = request({ model: 'm', prompt: 'text' });
    await clock.run();
    expect(asked.isReady()).toBe(true);
    expect(match(asked.request).matchedBlocks(endpoint)).toBe(2);
  });
});
