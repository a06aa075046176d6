import { expect, it } from 'vitest';
import { createPicker } from '../../index.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { uniformPool } from './pool-spec.ts';
import { simulate } from './simulate.ts';

const REQUESTS = 400;
/** As a large model has: a prompt of 300 tokens takes less time than the step that it waits for. */
const SERVER = {
  labels: {},
  latency: {
    kind: 'linear',
    baseMs: 30,
    perPrefillTokenMs: 0.06,
    perDecodeSequenceMs: 0.1,
    perContextTokenMs: 4e-5,
  },
  kvTokens: 400_000,
  sequencesMax: 256,
  batchedTokensMax: 8192,
  admissionMs: 0,
  jitter: 0.05,
} as const;

/** The mean time to the first token of short prompts that share nothing, at random times. */
function firstTokenMs(config: string, seed: number): number {
  const random = seededRandom(seed);
  let atMs = 200;
  const requests = Array.from({ length: REQUESTS }, (_, at) => {
    atMs -= 20 * Math.log(1 - random.next());
    const promptTokens = Math.round(50 + 300 * random.next());
    return { atMs, model: 'm', promptTokens, outputTokens: 40, blockIds: [1000 + at] };
  });
  const workload = { blockTokens: 64, requests };
  const result = simulate({ workload, pool: uniformPool(5, SERVER), config, createPicker, seed });
  return result.requests.reduce((sum, { ttftMs }) => sum + ttftMs / REQUESTS, 0);
}

it.each([1, 2, 3])(
  '[Q389] first tokens of short prompts come sooner than by turns where steps are long, seed %i',
  (seed) => {
    expect(firstTokenMs('default', seed)).toBeLessThan(0.97 * firstTokenMs('round-robin', seed));
  },
);
