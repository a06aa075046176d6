import { expect, it } from 'vitest';
import { createPicker } from '../../src/index.ts';
import type { RequestResult } from '../../src/lab/run-summary/run-result.ts';
import { readPool } from '../../src/lab/simulate/pool-file.ts';
import { simulate } from '../../src/lab/simulate/simulate.ts';
import type { TraceRequest } from '../../src/lab/traces/trace.ts';
import type { Workload } from '../../src/lab/traces/workload.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import type { StubReplica } from '../../stub-server/http/replica/stub-replica.ts';
import { runLive } from '../support/twin/run-live.ts';

/** The blocks of stub and trace are alike, so that both engines count memory alike. */
const BLOCK_TOKENS = 16;
const SEED = 1;

interface Sizes {
  readonly requests: number;
  readonly gapMs: number;
  readonly promptTokens: number;
}

/** Requests of six families, each with a common beginning, at random times. */
function workloadOf({ requests, gapMs, promptTokens }: Sizes): Workload {
  const random = seededRandom(SEED).fork('workload');
  let atMs = 1000;
  const drawn = Array.from({ length: requests }, (_, index): TraceRequest => {
    atMs -= Math.log(1 - random.next()) * gapMs;
    const tokens = Math.ceil(promptTokens * (0.2 + 1.6 * random.next()));
    const family = Math.floor(6 * random.next());
    const blockIds = Array.from({ length: Math.floor(tokens / BLOCK_TOKENS) }, (_, place) =>
      place < 20 ? `${family}.${place}` : `${index}:${place}`,
    );
    const outputTokens = 1 + Math.floor(80 * random.next());
    return { atMs, model: 'stub-model', promptTokens: tokens, outputTokens, blockIds };
  });
  return { blockTokens: BLOCK_TOKENS, requests: drawn };
}

/** Times in hundredths of a millisecond. */
interface Outcome
  extends Pick<RequestResult, 'server' | 'cachedTokens' | 'completed' | 'attempts'> {
  readonly ttft: number;
  readonly e2e: number;
}

/** Runs a workload both ways. */
async function bothWays(
  sizes: Sizes,
  servers: string,
  config = 'default',
): Promise<{
  readonly live: readonly Outcome[];
  readonly simulated: readonly Outcome[];
  readonly preemptions: readonly [live: number, simulated: number];
  readonly replicas: readonly StubReplica[];
}> {
  const poolFile = `servers:\n${servers}\n`;
  const pool = readPool(poolFile, 'pool.yaml');
  const workload = workloadOf(sizes);
  const run = { workload, pool, config, seed: SEED };
  const simulated = simulate({ ...run, createPicker });
  const { requests, replicas } = await runLive({ ...run, poolFile });
  const inHundredths = ({ ttftMs, e2eMs, ...rest }: RequestResult): Outcome => ({
    server: rest.server,
    ttft: Math.round(100 * ttftMs),
    e2e: Math.round(100 * e2eMs),
    cachedTokens: rest.cachedTokens,
    completed: rest.completed,
    attempts: rest.attempts,
  });
  return {
    live: requests.map(inHundredths),
    simulated: simulated.requests.map(inHundredths),
    preemptions: [
      replicas.reduce((sum, { stats }) => sum + stats.preemptions, 0),
      simulated.preemptions,
    ],
    replicas,
  };
}

const SERVER = 'preset: llama-3.1-8b-h100, jitter: 0';

it('[S20] the stub’s servers behind the real sessions give what a simulation gives', async () => {
  const sizes = { requests: 60, gapMs: 60, promptTokens: 2000 };
  const { live, simulated } = await bothWays(sizes, `  - { count: 3, ${SERVER} }`);
  expect(live).toEqual(simulated);
  expect(new Set(live.map(({ server }) => server)).size).toBe(3);
});

it('[S20] also where memory is short: the same is evicted and preempted', async () => {
  const sizes = { requests: 60, gapMs: 30, promptTokens: 800 };
  const servers = `  - { count: 2, ${SERVER}, kvTokens: 3200 }`;
  const { live, simulated, preemptions } = await bothWays(sizes, servers, 'round-robin');
  expect(live).toEqual(simulated);
  expect(preemptions[0]).toBeGreaterThan(3);
  expect(preemptions[0]).toBe(preemptions[1]);
});

const ALWAYS_ELSEWHERE = `
apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
  - type: always-disagg-pd-decider
  - type: disagg-profile-handler
    parameters: { deciders: { prefill: always-disagg-pd-decider } }
  - type: prefill-filter
  - type: decode-filter
  - type: round-robin-scorer
schedulingProfiles:
  - name: decode
    plugins: [{ pluginRef: decode-filter }, { pluginRef: round-robin-scorer }]
  - name: prefill
    plugins: [{ pluginRef: prefill-filter }, { pluginRef: round-robin-scorer }]
`;

it('[S21] also where prompts are computed elsewhere, and prefill servers wait for memory', async () => {
  const sizes = { requests: 40, gapMs: 40, promptTokens: 1500 };
  const servers = [
    `  - { count: 1, ${SERVER}, role: prefill, kvTokens: 8000 }`,
    `  - { count: 2, ${SERVER}, role: decode }`,
  ];
  const { live, simulated, replicas } = await bothWays(sizes, servers.join('\n'), ALWAYS_ELSEWHERE);
  expect(live).toEqual(simulated);
  expect(replicas[0]?.stats.requests).toBe(sizes.requests);
});

it('[G218] a request that is too long for its server is refused once, in a simulation as by the stub', async () => {
  const sizes = { requests: 40, gapMs: 40, promptTokens: 800 };
  for (const limit of ['kvTokens: 800', 'contextTokensMax: 800']) {
    const servers = [`  - { count: 1, ${SERVER}, ${limit} }`, `  - { count: 1, ${SERVER} }`];
    const { live, simulated } = await bothWays(sizes, servers.join('\n'), 'round-robin');
    expect(live).toEqual(simulated);
    const refused = simulated.filter(({ completed }) => !completed);
    expect(refused.length).toBeGreaterThan(3);
    expect(new Set(refused.map(({ server, attempts }) => `${server} ${attempts}`))).toEqual(
      new Set(['0 1']),
    );
  }
});
