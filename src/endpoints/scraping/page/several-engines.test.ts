import { expect, it } from 'vitest';
import { ENGINES } from './engine-metrics.ts';
import { PageReader } from './page-reader.ts';
import type { PageReading, PageRefusal } from './reading.ts';

function read(engine: string, lines: readonly string[]): PageReading | PageRefusal | undefined {
  const mapping = ENGINES.find(({ name }) => name === engine);
  if (mapping === undefined) throw new Error(`there is no mapping of ${engine}`);
  return new PageReader(mapping).read(Buffer.from(`${lines.join('\n')}\n`));
}

it('[Q315] adds up the queues of data-parallel engines, counts them, and takes the share of all their memory', () => {
  const lines = [0, 1].map((n) => `vllm:num_requests_running{engine="${n}"} ${n + 1}`);
  const usage = [0.75, 0.5].map((each, n) => `vllm:kv_cache_usage_perc{engine="${n}"} ${each}`);
  const together = { running: 3, kvUsage: 0.625, engines: 2 };
  expect(read('vllm', [...lines, ...usage])).toMatchObject(together);
});

it.each([
  ['SGLang', 'sglang', ['dp_rank="0"', 'dp_rank="1"', 'dp_rank="2"'], 3],
  ['one engine with series of two models', 'vllm', ['engine="0",m="a"', 'engine="0",m="b"'], 1],
  ['series without such a label', 'vllm', ['m="a"', 'm="b"'], 1],
  ['more than any server has', 'vllm', Array.from({ length: 900 }, (_, n) => `engine="${n}"`), 256],
])('[Q315] counts the engines of a page of %s', (_, engine, labels, engines) => {
  const name = engine === 'vllm' ? 'vllm:num_requests_running' : 'sglang:num_running_reqs';
  const lines = labels.map((each) => `${name}{${each}} 1`);
  expect(read(engine, lines)).toMatchObject({ running: labels.length, engines });
});

it('[Q315] takes the fullest memory of several where the page does not say whose they are', () => {
  const usage = ['a', 'b'].map((m, n) => `vllm:kv_cache_usage_perc{m="${m}"} 0.${n + 2}`);
  expect(read('vllm', ['vllm:num_requests_running 1', ...usage])).toMatchObject({ kvUsage: 0.3 });
});

it('[V490] takes the share of all engines from the lines that it takes each share from', () => {
  const mapping = ENGINES.find(({ name }) => name === 'vllm');
  if (mapping === undefined) throw new Error('there is no mapping of vllm');
  const reader = new PageReader(mapping);
  const page = (first: string, second: string): Buffer => {
    // Each line stays where it was, and so the share is found without a search.
    const lines = [first, 'vllm:num_requests_running{engine="0"} 1', second].map((line) =>
      line.padEnd(50, ' '),
    );
    return Buffer.from([...lines, 'vllm:kv_cache_usage_perc 0.5', ''].join('\n'));
  };
  expect(reader.read(page('#', '#'))).toMatchObject({ kvUsage: 0.5, engines: 1 });
  const both = page('vllm:kv_cache_usage_perc bad', 'vllm:num_requests_running{engine="1"} 1');
  expect(reader.read(both)).toMatchObject({ kvUsage: 0.25, engines: 2 });
});
