import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CONNECTORS, deploy, describeConnector, OTHER, PROMPT } from './describe-connector.ts';
import { isReplaced, SIMULATOR } from './processes.ts';
import { binary, type Scenario, type Server, servedBy } from './scenario.ts';

/** llm-d's scenarios with prefill and decode apart, behind a real Envoy. */

describe('[B92] the most common connectors', () => {
  for (const connector of CONNECTORS.slice(0, 2)) describeConnector(connector);
});

describe.skipIf(binary === undefined)('decisions about where a prompt is computed', () => {
  let scenario: Scenario;
  beforeAll(async () => {
    ({ scenario } = await deploy({ name: 'nixlv2', flags: () => [] }, 1));
  });
  afterAll(() => scenario?.stop());

  it('[B93] are counted by their type, and a cached prompt is decided to stay', async () => {
    const count = (type: string): Promise<number> =>
      scenario.metric('llm_d_epp_disagg_decision_total', `decision_type="${type}"`);
    const before = [await count('prefill-decode'), await count('decode-only')] as const;
    for (const prompt of [PROMPT, OTHER, PROMPT]) await (await scenario.complete(prompt)).text();
    for (const prompt of [PROMPT, OTHER, PROMPT]) await (await scenario.chat(prompt)).text();
    const after = [await count('prefill-decode'), await count('decode-only')] as const;
    expect([after[0] - before[0], after[1] - before[1]]).toEqual([4, 2]);
  });
});

describe.skipIf(binary === undefined || isReplaced(SIMULATOR))(
  'a bound on what must be cached, with shared storage',
  () => {
    let scenario: Scenario;
    let prefiller: Server;
    beforeAll(async () => {
      const connector = { name: 'shared-storage', flags: () => [], stub: { sharedStorage: true } };
      ({ scenario, prefiller } = await deploy(connector, 1));
    });
    afterAll(() => scenario?.stop());

    it.each([false, true])(
      '[B94] asks the prefilling server only where too little is cached (stream: %s)',
      async (stream) => {
        const prompt = `${stream} ${PROMPT}`;
        const ask = async (): Promise<string> =>
          (await scenario.complete(prompt, { cache_hit_threshold: 0.5, stream })).text();
        const before = await servedBy(prefiller);
        expect(await ask()).not.toContain('cache_threshold');
        expect(await servedBy(prefiller)).toBe(before + 1);
        expect(await ask()).not.toContain('cache_threshold');
        expect(await servedBy(prefiller)).toBe(before + 1);
      },
    );
  },
);
