import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  lineOf,
  mappingOf,
  page,
  read,
  reader,
  usedFrom,
  VLLM_LOAD,
} from '../../../../test/support/metrics-pages.ts';
import { ENGINES } from './engine-metrics.ts';
import { PageReader } from './page-reader.ts';
import type { PageReading } from './reading.ts';

const SEED = 20_270_104;

/** What fills pages that are made to take long. */
const HOSTILE = [
  ['empty lines', '\n'],
  ['comments', '#\n'],
  ['names that begin alike', 'vllm:num_requests_waiting_x 1\n'],
  ['one metric', 'vllm:num_requests_waiting 1\n'],
  ['adapters', 'vllm:lora_requests_info{running_lora_adapters="a"} 1\n'],
  ['labels', 'vllm:cache_config_info{a="",b="",c=""} 1\n'],
] as const;

describe('a page that cannot be believed', () => {
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
      ...(each.blockTokens ?? []),
      ...(each.blocks ?? []),
      'process_start_time_seconds',
    ]).filter((name) => name !== undefined);
    const label = fc.constantFrom('max_lora', 'running_lora_adapters', 'block_size', 'page_size');
    const word = fc.constantFrom('1e400', '-1', 'NaN', '16', '1.5', 'None', '9e99', ',,', '');
    const lines = fc.array(
      fc.tuple(fc.constantFrom(...names), label, word, word).map(([name, key, text, value]) => {
        const bare = name.replace(/\{.*/, '');
        const more = /\{(.*)="?(.*?)"?\}/.exec(name);
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
});

it.each([
  ['a byte order mark', `\u{feff}${VLLM_LOAD}`],
  ['lines that end with CRLF', VLLM_LOAD.replaceAll('\n', '\r\n')],
  ['no newline at its end', VLLM_LOAD.trimEnd()],
  ['100,000 comments', `${'# HELP a b\n'.repeat(100_000)}${VLLM_LOAD}`],
])('[V569] reads a page with %s like any other', (_what, text) => {
  const plain = reader('vllm').read(Buffer.from(VLLM_LOAD));
  expect(usedFrom(plain)?.running).toBe(1);
  expect(reader('vllm').read(Buffer.from(text))).toEqual(plain);
});
