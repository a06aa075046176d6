import { expect, it } from 'vitest';
import { PRESETS } from '../../../stub-server/presets/presets.ts';
import { LosingServer } from '../../../test/support/losing-server.ts';
import { createPicker } from '../../index.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import type { RequestResult } from '../run-summary/run-result.ts';
import type { TraceRequest } from '../traces/trace.ts';
import { type FaultSpec, type ServerSpec, uniformPool } from './pool-spec.ts';
import { simulate } from './simulate.ts';
import type { ServerParts } from './simulated-server.ts';

const SEED = 3;
const DOWN: FaultSpec = { kind: 'crash', server: 's1', atMs: 10_000, forMs: 8000 };
const PATIENCE_MS = 60_000;
const EVERY_MS = 25;
const SERVER = {
  labels: {},
  latency: PRESETS.study.latency,
  kvTokens: 400_000,
  sequencesMax: 256,
  batchedTokensMax: 8192,
  admissionMs: 0,
  jitter: 0.05,
};

function requestsUntil(endMs: number): readonly TraceRequest[] {
  const random = seededRandom(SEED);
  const requests: TraceRequest[] = [];
  for (let atMs = 0; atMs < endMs; atMs -= EVERY_MS * Math.log(1 - random.next())) {
    const promptTokens = Math.round(300 + 3000 * random.next() ** 2);
    const outputTokens = 20 + Math.floor(400 * random.next() ** 2);
    const blockIds = [requests.length];
    requests.push({ atMs, model: 'm', promptTokens, outputTokens, blockIds });
  }
  return requests;
}

function meanTtftMs(requests: readonly RequestResult[], fromMs: number): number {
  const meant = requests.filter(({ request: { atMs } }) => atMs > fromMs);
  return meant.reduce((sum, { ttftMs }) => sum + ttftMs, 0) / meant.length;
}

function resultsWith(faults: readonly FaultSpec[]): readonly RequestResult[] {
  const workload = { blockTokens: 64, requests: requestsUntil(60_000) };
  const pool = { ...uniformPool(3, SERVER), faults };
  const createServer = (spec: ServerSpec, parts: ServerParts): LosingServer =>
    new LosingServer(spec, parts, PATIENCE_MS);
  const options = { workload, pool, config: 'default', createPicker, seed: SEED, createServer };
  return simulate(options).requests;
}

it('[O399] first tokens come as soon as if nothing had been lost while clients wait for what one server of three has lost, seed 3', () => {
  const requests = resultsWith([DOWN]);
  const lost = requests.filter(({ attempts, completed }) => attempts > 1 || !completed);
  expect(lost.length).toBeGreaterThan(20);
  const fromMs = DOWN.atMs + DOWN.forMs + 7000;
  const usualMs = meanTtftMs(resultsWith([]), fromMs);
  expect(meanTtftMs(requests, fromMs)).toBeLessThan(1.2 * usualMs);
});
