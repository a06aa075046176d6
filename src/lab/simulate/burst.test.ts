import { expect, it } from 'vitest';
import { PRESETS } from '../../../stub-server/presets/presets.ts';
import { NAMED_CONFIGS } from '../../config/defaults.ts';
import { createPicker } from '../../index.ts';
import { summarize } from '../run-summary/summarize.ts';
import type { TraceRequest } from '../traces/trace.ts';
import type { Workload } from '../traces/workload.ts';
import { uniformPool } from './pool-spec.ts';
import { simulate } from './simulate.ts';

const WITH = NAMED_CONFIGS.get('default') ?? '';
const WITHOUT = WITH.replace('hold: {enabled: true}', 'hold: {enabled: false}');
const SERVER = {
  labels: {},
  latency: PRESETS['llama-3.1-8b-h100'].latency,
  kvTokens: 1_000_000,
  sequencesMax: 1024,
  batchedTokensMax: 8192,
  admissionMs: 0,
  jitter: 0,
};

/** All at one instant, with short prompts and answers. */
function burstOf(requests: number): Workload {
  const one = (n: number) => ({
    atMs: 0,
    model: 'm',
    promptTokens: 100 + ((37 * n) % 400),
    outputTokens: 1 + (n % 30),
    blockIds: [n],
  });
  return { blockTokens: 512, requests: Array.from({ length: requests }, (_, n) => one(n)) };
}

function answersMs(config: string, workload: Workload): number {
  const pool = uniformPool(1, SERVER);
  return summarize(simulate({ createPicker, workload, pool, config, seed: 1 })).e2eMeanMs;
}

/** The burst, and 40 requests a second after it. */
function burstAndLoad(): Workload {
  const { blockTokens, requests } = burstOf(1500 + 800);
  const later = (one: TraceRequest, n: number): TraceRequest => ({
    ...one,
    atMs: Math.max(0, 25 * (n - 1500)),
  });
  return { blockTokens, requests: requests.map(later) };
}

it('[Q354] answers a burst on one server as soon as without waiting, where no other can be better', () => {
  const workload = burstOf(1500);
  expect(answersMs(WITH, workload)).toBeLessThan(answersMs(WITHOUT, workload));
});

it('[Q364] answers a burst that a load follows, and the load, as soon as without waiting', () => {
  const workload = burstAndLoad();
  expect(answersMs(WITH, workload)).toBeLessThan(answersMs(WITHOUT, workload));
});
