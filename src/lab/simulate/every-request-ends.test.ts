import { describe, expect, it } from 'vitest';
import { LORA_DEFAULTS } from '../../../stub-server/engine/lora-slots.ts';
import type { Random } from '../../framework/runtime.ts';
import { createPicker } from '../../index.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import type { WholeSimulation } from '../run-summary/run-result.ts';
import { summarize } from '../run-summary/summarize.ts';
import type { TraceRequest } from '../traces/trace.ts';
import { type FaultSpec, presetServer, type ServerSpec } from './pool-spec.ts';
import { type SimulationOptions, simulate } from './simulate.ts';
import { SimulatedServer } from './simulated-server.ts';

/** A prompt is computed elsewhere wherever a draw says so, also where it is decoded. */
const ANYWHERE = `
apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
  - type: always-disagg-pd-decider
  - type: disagg-profile-handler
    parameters: { deciders: { prefill: always-disagg-pd-decider } }
  - type: prefill-filter
  - type: decode-filter
  - type: random-picker
schedulingProfiles:
  - { name: decode, plugins: [{ pluginRef: decode-filter }, { pluginRef: random-picker }] }
  - { name: prefill, plugins: [{ pluginRef: prefill-filter }, { pluginRef: random-picker }] }
`;
const CONFIGS = ['round-robin', 'reference-default', 'default', ANYWHERE];
const BLOCK_TOKENS = 16;
/** A simulation that goes on for so many scrapes, seven hours, does not end. */
const SCRAPES_MAX = 300_000;

function pick<T>(random: Random, values: readonly T[]): T {
  return values[Math.floor(values.length * random.next())] as T;
}

function drawServers(random: Random): readonly ServerSpec[] {
  const roles = pick(random, [['both'], ['prefill', 'decode'], ['prefill', 'both', 'decode']]);
  const base = presetServer('llama-3.1-8b-h100');
  return roles.flatMap((role) => {
    const kvTokens = BLOCK_TOKENS * (3 + Math.floor(20 * random.next()));
    const sequencesMax = pick(random, [1, 2, 64]);
    const batchedTokensMax = Math.max(sequencesMax, pick(random, [8, 512]));
    const sizes = { kvTokens, sequencesMax, batchedTokensMax };
    const slowdown = pick(random, [0.1, 1, 10]);
    const labels = { 'llm-d.ai/role': role };
    const loras = { ...LORA_DEFAULTS, hostSlots: 4 };
    const one = { ...base, ...sizes, slowdown, labels, jitter: 0.1 };
    const made = random.next() < 0.2 ? { ...one, loras } : one;
    return Array.from({ length: pick(random, [1, 2]) }, (_, at) => ({ ...made, id: role + at }));
  });
}

function drawRequests(random: Random): readonly TraceRequest[] {
  const everyMs = pick(random, [0, 5, 200]);
  return Array.from({ length: 40 }, (_, at) => ({
    atMs: everyMs * at,
    model: pick(random, ['a', 'b']),
    promptTokens: 1 + Math.floor(200 * random.next()),
    outputTokens: 1 + Math.floor(pick(random, [1, 80]) * random.next()),
    blockIds: random.next() < 0.5 ? [] : [at % 3],
    session: `s${at % 7}`,
  }));
}

function optionsOf(seed: number): SimulationOptions {
  const random = seededRandom(seed);
  const servers = drawServers(random);
  const faults: FaultSpec[] =
    random.next() < 0.5
      ? []
      : [{ kind: 'crash', server: pick(random, servers).id, atMs: 100, forMs: 300 }];
  let scrapes = 0;
  return {
    workload: {
      blockTokens: BLOCK_TOKENS,
      requests: drawRequests(random),
      closedLoop: random.next() < 0.3,
    },
    pool: { servers, faults },
    config: pick(random, CONFIGS),
    replicas: pick(random, [1, 2]),
    scrapeIntervalMs: 1000,
    seed,
    createPicker,
    createServer: (spec, parts) => {
      const server = new SimulatedServer(spec, parts);
      const sample = server.sample.bind(server);
      const counted = (): ReturnType<typeof sample> => {
        scrapes += 1;
        if (scrapes > SCRAPES_MAX) throw new Error('the simulation does not end');
        return sample();
      };
      return Object.assign(server, { sample: counted });
    },
  };
}

/** Throws if what a simulation says of its requests cannot be. */
function check({ requests }: WholeSimulation, { pool, workload }: SimulationOptions): void {
  expect(requests).toHaveLength(workload.requests.length);
  for (const { request, server, completed, ttftMs, e2eMs, cachedTokens } of requests) {
    expect(e2eMs).toBeGreaterThanOrEqual(0);
    expect(cachedTokens).toBeLessThan(request.promptTokens);
    if (!completed) continue;
    expect(e2eMs).toBeGreaterThanOrEqual(ttftMs);
    expect(ttftMs).toBeGreaterThan(0);
    const longest = pool.servers[server]?.kvTokens ?? 0;
    expect(request.promptTokens + request.outputTokens).toBeLessThanOrEqual(longest);
  }
}

describe('a simulation of servers with little memory', () => {
  const seeds = Array.from({ length: 24 }, (_, at) => at + 1);
  it.each(seeds)('[O332] ends, and each request has one end: seed %i', (seed) => {
    const options = optionsOf(seed);
    const result = simulate(options);
    check(result, options);
    const { requests, failed } = summarize(result);
    expect(requests - failed).toBe(result.requests.filter(({ completed }) => completed).length);
    expect(JSON.stringify(simulate(optionsOf(seed)).requests)).toBe(
      JSON.stringify(result.requests),
    );
  });

  it('[O332] gives back after eight minutes what servers hold for each other, as vLLM does', () => {
    const base = presetServer('llama-3.1-8b-h100');
    const one = { ...base, kvTokens: 160, jitter: 0, labels: { 'llm-d.ai/role': 'both' } };
    const requests = Array.from({ length: 8 }, () => ({
      atMs: 0,
      model: '',
      promptTokens: 70,
      outputTokens: 2,
      blockIds: [],
    }));
    const options = {
      ...optionsOf(1),
      workload: { blockTokens: BLOCK_TOKENS, requests },
      pool: { servers: ['a', 'b'].map((id) => ({ ...one, id })), faults: [] },
      config: ANYWHERE,
    };
    const { durationMs, requests: results } = simulate(options);
    expect(results.some(({ completed }) => completed)).toBe(true);
    expect(durationMs).toBeGreaterThan(480_000);
    expect(durationMs).toBeLessThan(8 * 6 * 480_000);
  });
});
