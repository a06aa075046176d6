import { gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { expectSameNames } from '../../../test/house/faults.ts';
import { makeTrace, readBytes } from '../../../test/make-trace.ts';
import { isLong } from '../../../test/support/long-runs.ts';
import { READ_ONLY_SAMPLES } from '../../../test/trace-samples.ts';
import { ConfigError } from '../../framework/error.ts';
import type { Random } from '../../framework/runtime.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { TRACE_FORMATS } from './reading/find-format.ts';
import { type Trace, TraceError } from './trace.ts';

/** For each format. A failure names its seed. */
const SEEDS = Array.from({ length: isLong ? 150 : 50 }, (_, index) => index + 1);

function sampleOf(name: string, random: Random): Buffer {
  const format = TRACE_FORMATS.find((each) => each.name === name);
  const trace = makeTrace(random);
  const text =
    format?.write === undefined
      ? (READ_ONLY_SAMPLES.get(name) ?? '')
      : [...format.write(trace)].join('');
  const pack = [Buffer.from, Buffer.from, zstdCompressSync, gzipSync][
    Math.floor(4 * random.next())
  ];
  return pack === undefined || pack === Buffer.from
    ? Buffer.from(text)
    : (pack as typeof gzipSync)(text);
}

const CUNNING = [
  '-',
  '1e999',
  '"',
  '{',
  ']',
  '\n',
  '\0',
  ',',
  '99999999999999999999',
  'null',
  '[]',
  '\ufeff',
];

/** Flips, takes away, puts in, doubles and cuts off. */
function mutated(bytes: Buffer, random: Random): Buffer {
  let now = Buffer.from(bytes);
  const upTo = (bound: number): number => Math.floor(bound * random.next());
  for (let times = 1 + upTo(4); times > 0; times--) {
    const at = upTo(now.length + 1);
    const end = Math.min(now.length, at + 1 + upTo(20));
    const parts = [now.subarray(0, at), now.subarray(end)] as const;
    const kind = upTo(6);
    if (kind === 0 && now.length > 0) now[Math.min(at, now.length - 1)] = upTo(256);
    else if (kind === 1) now = Buffer.concat(parts);
    else if (kind === 2) now = Buffer.concat([parts[0], now.subarray(at, end), now.subarray(at)]);
    else if (kind === 3) now = Buffer.from(parts[0]);
    else {
      const put = CUNNING[upTo(CUNNING.length)] ?? '';
      now = Buffer.concat([parts[0], Buffer.from(put), kind === 4 ? now.subarray(at) : parts[1]]);
    }
  }
  return now;
}

function wrongWith({ requests, blockTokens }: Trace): readonly string[] {
  let before = 0;
  const wrong: string[] = [];
  if (requests.length === 0 || requests[0]?.atMs !== 0) wrong.push('does not begin at 0');
  for (const { atMs, promptTokens, outputTokens, blockIds, seen } of requests) {
    if (!(atMs >= before)) wrong.push(`at ${atMs} after ${before}`);
    if (!(promptTokens >= 1) || !Number.isInteger(promptTokens)) wrong.push(`${promptTokens} in`);
    if (!(outputTokens >= 1) || !Number.isInteger(outputTokens)) wrong.push(`${outputTokens} out`);
    if (blockIds.length * blockTokens > promptTokens) wrong.push(`${blockIds.length} blocks`);
    if (seen?.ttftMs !== undefined && !(seen.ttftMs >= 0)) wrong.push(`ttft ${seen.ttftMs}`);
    before = atMs;
  }
  return wrong;
}

describe('a sample of each format that is only read', () => {
  const readOnly = TRACE_FORMATS.filter(({ write }) => write === undefined);

  it('[T121] is in test/trace-samples.ts: a damaged one is made of it', () => {
    const names = readOnly.map(({ name }) => name);
    expectSameNames([...READ_ONLY_SAMPLES.keys()], names, 'READ_ONLY_SAMPLES');
  });

  it.each(readOnly)('[T121] is known as $name, and has several requests', ({ name }) => {
    const sample = READ_ONLY_SAMPLES.get(name) ?? '';
    for (const from of [undefined, name]) {
      const trace = readBytes(sample, { lenient: false, from });
      expect(trace.requests.length).toBeGreaterThan(1);
      expect(wrongWith(trace)).toEqual([]);
    }
  });
});

describe('a damaged trace', () => {
  it.each(TRACE_FORMATS)(
    'in $name is refused with its line, or read as one that is sound',
    ({ name }) => {
      let refused = 0;
      for (const seed of SEEDS) {
        const random = seededRandom(seed);
        const bytes = mutated(sampleOf(name, random), random);
        for (const lenient of [false, true]) {
          for (const from of [undefined, name]) {
            try {
              const trace = readBytes(bytes, { lenient, from });
              expect(wrongWith(trace), `seed ${seed}, lenient ${lenient}`).toEqual([]);
            } catch (error) {
              refused += 1;
              if (error instanceof TraceError) expect(error.message).toMatch(/\/trace:\d+: /);
              else if (!(error instanceof ConfigError))
                throw new Error(`seed ${seed}`, { cause: error });
            }
          }
        }
      }
      // Else the mutations would not reach what they are to try.
      expect(refused).toBeGreaterThan(SEEDS.length / 10);
    },
  );
});
