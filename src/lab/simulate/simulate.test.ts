import { describe, expect, it } from 'vitest';
import { PRESETS } from '../../../stub-server/presets/presets.ts';
import { NAMED_CONFIGS } from '../../config/defaults.ts';
import { createPicker } from '../../index.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import type { WholeSimulation } from '../run-summary/run-result.ts';
import { type SimulationSummary, summarize } from '../run-summary/summarize.ts';
import type { Workload } from '../traces/workload.ts';
import { type FaultSpec, noteTooLong, type PoolSpec, uniformPool } from './pool-spec.ts';
import { simulate } from './simulate.ts';
import { SimulatedServer } from './simulated-server.ts';

const SERVER = {
  labels: {},
  latency: PRESETS.study.latency,
  kvTokens: 200_000,
  sequencesMax: 64,
  batchedTokensMax: 8192,
  admissionMs: 0,
  jitter: 0,
};

const CONTROLLED = `
apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
featureGates: [flowControl]
plugins:
  - type: predicted-cost-scorer
  - type: backlog-detector
flowControl:
  defaultRequestTTL: 1s
  saturationDetector: { pluginRef: backlog-detector }
`;

function workloadOf(requests: number, seed = 1): Workload {
  const random = seededRandom(seed);
  let atMs = 0;
  return {
    blockTokens: 64,
    requests: Array.from({ length: requests }, () => {
      atMs += -Math.log(1 - random.next()) * 40;
      const family = Math.floor(6 * random.next());
      const blocks = 4 + Math.floor(20 * random.next());
      return {
        atMs,
        model: 'm',
        promptTokens: 64 * blocks + 10,
        outputTokens: 1 + Math.floor(60 * random.next()),
        blockIds: Array.from({ length: blocks }, (_, index) => 1000 * family + index),
      };
    }),
  };
}

function run(workload: Workload, pool: PoolSpec, config = 'default', seed = 1): WholeSimulation {
  return simulate({ workload, pool, config, createPicker, seed });
}

describe('simulate', () => {
  it('takes for one request what the latency model and the network say', () => {
    const request = { atMs: 5, model: 'm', promptTokens: 1000, outputTokens: 3, blockIds: [] };
    const { requests } = run({ blockTokens: 64, requests: [request] }, uniformPool(1, SERVER));
    const [result] = requests;
    const networkMs = 2 * 0.25;
    expect(result?.ttftMs).toBeCloseTo(6 + 0.04 * 1000 + networkMs, 6);
    const decodeMs = 2 * (6 + 0.05) + 0.00002 * (1000 + 1001);
    expect(result?.e2eMs).toBeCloseTo(6 + 40 + decodeMs + networkMs, 6);
  });

  it('[Q116] runs flow control: high priorities go first, and what waits too long is refused', () => {
    const { blockTokens, requests } = workloadOf(600);
    const workload = {
      blockTokens,
      requests: requests.map((request, at) => ({
        ...request,
        atMs: request.atMs / 10,
        priority: at % 4 === 0 ? 1 : -1,
      })),
    };
    const results = run(workload, uniformPool(1, SERVER), CONTROLLED).requests;
    const summaryOf = (priority: number): SimulationSummary => {
      const those = results.filter(({ request }) => request.priority === priority);
      return summarize({ requests: those, durationMs: 0, preemptions: 0 });
    };
    const [high, low] = [summaryOf(1), summaryOf(-1)];
    expect([high.failed, low.failed > 5]).toEqual([0, true]);
    expect(high.ttftMeanMs).toBeLessThan(low.ttftMeanMs / 3);
    expect(results.every(({ attempts }) => attempts === 1)).toBe(true);
  });

  it('gives the same result for the same seed, byte for byte, and another for another', () => {
    const pool = uniformPool(4, { ...SERVER, jitter: 0.1 });
    const told = (seed: number): string =>
      JSON.stringify(run(workloadOf(400), pool, 'default', seed).requests);
    expect(told(1)).toBe(told(1));
    expect(told(1)).not.toBe(told(2));
  });

  it('serves every request, whatever the policy', () => {
    const workload = workloadOf(400);
    for (const config of ['round-robin', 'random', 'reference-default', 'default']) {
      const { requests } = run(workload, uniformPool(3, SERVER), config);
      expect(requests.filter(({ completed }) => completed)).toHaveLength(400);
    }
  });

  it('[O324] does not scrape idle servers through a pause of weeks, in a closed loop either, and the time after it is as after a short one', () => {
    const { blockTokens, requests } = workloadOf(40);
    const after = (
      pauseMs: number,
      closedLoop: boolean,
    ): WholeSimulation & { readonly scrapes: number } => {
      const later = requests.map((each) => ({ ...each, atMs: each.atMs + pauseMs }));
      const turns = requests.map((each, at) => ({ ...each, session: `s${at}`, thinkMs: pauseMs }));
      const workload = closedLoop
        ? { blockTokens, requests: [...turns, ...turns], closedLoop }
        : { blockTokens, requests: [...requests, ...later] };
      let scrapes = 0;
      const pool = uniformPool(3, SERVER);
      const result = simulate({
        workload,
        pool,
        config: 'default',
        createPicker,
        seed: 1,
        createServer: (spec, parts) => {
          const server = new SimulatedServer(spec, parts);
          const sample = server.sample.bind(server);
          return Object.assign(server, { sample: () => (scrapes++, sample()) });
        },
      });
      return { ...result, scrapes };
    };
    for (const closed of [false, true]) {
      const [long, short] = [after(40 * 86_400_000, closed), after(86_400_000, closed)];
      expect(long.scrapes - short.scrapes, `closed: ${closed}`).toBeLessThan(10);
      expect(long.scrapes, `closed: ${closed}`).toBeLessThan(1500);
      expect(long.requests.map(({ server, ttftMs }) => [server, ttftMs.toFixed(3)])).toEqual(
        short.requests.map(({ server, ttftMs }) => [server, ttftMs.toFixed(3)]),
      );
    }
  });

  it('[O327] fails requests longer than the memory of every server, and says how many there are', () => {
    const { blockTokens, requests } = workloadOf(20);
    const long = requests.map((each, at) => (at < 3 ? { ...each, promptTokens: 300_000 } : each));
    const workload = { blockTokens, requests: long };
    const pool = uniformPool(2, SERVER);
    expect(summarize(run(workload, pool)).failed).toBe(3);
    expect(noteTooLong(workload, pool)).toEqual([
      '3 requests fail: with their answers they are longer than the 200,000 tokens that a server of the pool takes at most, by its KV memory or contextTokensMax',
    ]);
    expect(noteTooLong(workloadOf(20), pool)).toEqual([]);
  });

  it('[O328] refuses a pool whose server has memory for less than a block of the trace', () => {
    const pool = uniformPool(2, { ...SERVER, kvTokens: 63 });
    expect(() => run(workloadOf(3), pool)).toThrow(
      /s0\.kvTokens: 63 tokens are less than the 64 of a block of the trace/,
    );
  });

  it('sends what a crashed server lost before its first token somewhere else', () => {
    const { servers } = uniformPool(3, SERVER);
    const faults: readonly FaultSpec[] = [{ kind: 'crash', server: 's1', atMs: 2000, forMs: 8000 }];
    const { requests } = run(workloadOf(500), { servers, faults });
    expect(requests.some(({ attempts }) => attempts > 1)).toBe(true);
    // Only answers already begun are lost.
    const lost = requests.filter(({ completed }) => !completed);
    expect(lost.every(({ ttftMs }) => Number.isFinite(ttftMs))).toBe(true);
    expect(lost.length).toBeLessThan(20);
    const during = requests.filter(
      ({ request, server, attempts }) =>
        request.atMs > 2600 && request.atMs < 9000 && server === 1 && attempts === 1,
    );
    expect(during).toEqual([]);
  });

  it('says who is better: prefix reuse beats turns', () => {
    const workload = workloadOf(800);
    const pool = uniformPool(4, SERVER);
    const turns = summarize(run(workload, pool, 'round-robin'));
    const ours = summarize(run(workload, pool, 'default'));
    expect(ours.hitRate).toBeGreaterThan(turns.hitRate);
    expect(ours.ttftMeanMs).toBeLessThan(turns.ttftMeanMs);
  });

  it('[Q16] answers sooner under overload where requests wait for their endpoints, and as before at low load', () => {
    const at = (everyMs: number, config: string): ReturnType<typeof summarize> => {
      const { blockTokens, requests } = workloadOf(400);
      const long = requests.map((request, index) => ({
        ...request,
        atMs: everyMs * index,
        promptTokens: 12 * request.promptTokens,
      }));
      const pool = uniformPool(3, { ...SERVER, kvTokens: 1_000_000 });
      return summarize(run({ blockTokens, requests: long }, pool, config));
    };
    const text = NAMED_CONFIGS.get('default') ?? '';
    const without = text.replace('hold: {enabled: true}', 'hold: {enabled: false}');
    expect(without).not.toBe(text);
    const [held, bound] = [at(90, text), at(90, without)];
    expect(held.failed + bound.failed).toBe(0);
    expect(held.ttftMeanMs).toBeLessThan(0.95 * bound.ttftMeanMs);
    const [calm, before] = [at(4000, text), at(4000, without)];
    expect(calm.ttftMeanMs).toBe(before.ttftMeanMs);
  });
});
