import { expect, it } from 'vitest';
import { ENGINES } from './engine-metrics.ts';
import { PageReader } from './page-reader.ts';

const vllm = ENGINES.find(({ name }) => name === 'vllm') ?? expect.fail('vLLM is not known');

it.each([
  ['False', 'no prefixes are kept', false],
  ['True', 'not said', undefined],
  ['None', 'not said', undefined],
  ['', 'not said', undefined],
])('[Q331] enable_prefix_caching="%s" on the page of vLLM means: %s', (said, _, kept) => {
  const lines = [
    'vllm:num_requests_running 1',
    `vllm:cache_config_info{block_size="16",enable_prefix_caching="${said}",num_gpu_blocks="9"} 1`,
  ];
  const reading = new PageReader(vllm).read(Buffer.from(`${lines.join('\n')}\n`));
  const cache = reading !== undefined && 'cache' in reading ? reading.cache : undefined;
  expect([cache?.blocks, cache?.keepsPrefixes]).toEqual([9, kept]);
});
