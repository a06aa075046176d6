import { readFileSync } from 'node:fs';
import { describe, expect, it, vi } from 'vitest';
import { longPrompts } from '../../bench/scenarios/disaggregation.ts';
import { mixedPool, presetServer } from '../../bench/scenarios/pools.ts';
import { decodeStepMs, promptMs } from '../../src/cost-model/step-time.ts';
import { packageFile } from '../../src/files/folders.ts';
import type { Endpoint } from '../../src/framework/endpoint.ts';
import type { Routed } from '../../src/framework/observer.ts';
import { createPicker } from '../../src/index.ts';
import type { ServerSpec } from '../../src/lab/simulate/pool-spec.ts';
import { simulate } from '../../src/lab/simulate/simulate.ts';
import { EngineModel } from '../../src/picker/engine-model/engine-model.ts';
import { latencyModel } from '../../stub-server/engine/latency-model.ts';

const CONFIG = readFileSync(packageFile('deploy/disaggregation.yaml'), 'utf8');
const CONFIGS = {
  'whole answers': CONFIG,
  'first tokens': CONFIG.replace(
    '- type: cost-pd-decider\n',
    '- type: cost-pd-decider\n    parameters: {objective: first-token}\n',
  ).replace('      - { pluginRef: active-request-scorer }\n', ''),
};
const [H100, L40S] = (['llama-3.1-8b-h100', 'llama-3.1-8b-l40s'] as const).map(presetServer) as [
  ReturnType<typeof presetServer>,
  ReturnType<typeof presetServer>,
];
/** About the mean of those that are computed elsewhere. */
const TOKENS = 6000;

interface Simulated {
  readonly prefillers: readonly (typeof H100)[];
  readonly perSecond: number;
  readonly objective: keyof typeof CONFIGS;
}

/** Of each prefill server, by which factor what was learned of its prompts is off (seed 1). */
function factorsOf({ prefillers, perSecond, objective }: Simulated): readonly number[] {
  const withRole = (role: string, server: typeof H100): [number, typeof H100] => [
    1,
    { ...server, labels: { 'llm-d.ai/role': role } },
  ];
  const pool = mixedPool([
    ...prefillers.map((each) => withRole('prefill', each)),
    ...[H100, H100].map((each) => withRole('decode', each)),
  ]);
  const workload = longPrompts(1, { perSecond, promptTokens: 4000, requests: 700 });
  const endpoints = new Map<string, Endpoint>();
  let model: EngineModel | undefined;
  const spy = vi.spyOn(EngineModel.prototype, 'onRouted');
  try {
    simulate({ createPicker, workload, pool, config: CONFIGS[objective], seed: 1 });
    model = spy.mock.contexts[0] as EngineModel;
    for (const [{ prefill }] of spy.mock.calls as [Routed][]) {
      if (prefill !== undefined) endpoints.set(prefill.id, prefill);
    }
  } finally {
    spy.mockRestore();
  }
  return pool.servers.slice(0, prefillers.length).map((server) => {
    const engine = model?.stepTime(endpoints.get(server.id) as Endpoint);
    const learnedMs =
      promptMs({ promptTokens: TOKENS, uncachedTokens: TOKENS }, engine) +
      decodeStepMs(0, 0, engine);
    return learnedMs / stubMs(server);
  });
}

/** The time of the prompt alone at the stub. */
function stubMs({ latency, batchedTokensMax }: ServerSpec): number {
  const stepMs = latencyModel(latency);
  let sumMs = 0;
  for (let done = 0; done < TOKENS; ) {
    const prefillTokens = Math.min(TOKENS - done, batchedTokensMax);
    const attendedSquares = (done + prefillTokens) ** 2 - done ** 2;
    const decoding = { decodeSequences: 0, contextTokens: 0 };
    sumMs += stepMs({ prefillTokens, prefillSequences: 1, attendedSquares, ...decoding });
    done += prefillTokens;
  }
  return sumMs;
}

describe('what is learned of the stub as a prefill server', () => {
  it.each<Simulated>([
    { prefillers: [H100, H100], perSecond: 12, objective: 'first tokens' },
    { prefillers: [H100, H100], perSecond: 4, objective: 'whole answers' },
    { prefillers: [H100, H100], perSecond: 12, objective: 'whole answers' },
    { prefillers: [H100, L40S], perSecond: 8, objective: 'whole answers' },
    { prefillers: [L40S, L40S], perSecond: 6, objective: 'whole answers' },
  ])(
    '[Q373] is within a quarter, for $objective, with $perSecond prompts a second (seed 1)',
    (simulated) => {
      const factors = factorsOf(simulated);
      for (const factor of factors) expect(Math.abs(Math.log(factor))).toBeLessThan(Math.log(1.25));
    },
  );
});
