import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CONNECTORS, deploy, describeConnector, OTHER, PROMPT } from './describe-connector.ts';
import { isReplaced, SIDECAR, SIMULATOR } from './processes.ts';
import { binary, type Scenario, type Server, servedBy, sumOf } from './scenario.ts';

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

// The reference's flag for this is in no release.
describe.skipIf(binary === undefined || isReplaced(SIMULATOR) || isReplaced(SIDECAR))(
  'a conversation with prefill and decode apart',
  () => {
    let scenario: Scenario;
    let prefiller: Server;
    beforeAll(async () => {
      const flags = (): readonly string[] => ['--bidirectional-kv-xfer'];
      const connector = { name: 'nixlv2', flags, stub: { bidirectionalKv: true } };
      ({ scenario, prefiller } = await deploy(connector, 1));
    });
    afterAll(() => scenario?.stop());

    it.each([false, true])(
      '[B210] each turn takes the KV of the answer before it from the engine (stream: %s)',
      async (stream) => {
        const taken = (): Promise<number> =>
          sumOf(`http://${prefiller.address}/metrics`, 'vllm:external_prefix_cache_hits_total');
        const messages = [{ role: 'user', content: `${stream} ${PROMPT}` }];
        const before = await taken();
        for (let turn = 1; turn <= 4; turn++) {
          const body = { messages, stream, max_tokens: 100, ignore_eos: true };
          const response = await scenario.post('/v1/chat/completions', body);
          const content = textOf(await response.text(), stream);
          messages.push({ role: 'assistant', content });
          messages.push({ role: 'user', content: `${turn} ${OTHER}` });
        }
        // Three answers of 100 tokens, but for the part of a block at their ends.
        const tokens = (await taken()) - before;
        expect(tokens).toBeGreaterThan(3 * 80);
        expect(tokens).toBeLessThan(3 * 120);
      },
    );
  },
);

/** The text of a chat's answer. */
function textOf(answer: string, stream: boolean): string {
  const bodies = stream
    ? answer.split('\n').filter((line) => line.startsWith('data: {'))
    : [`data: ${answer}`];
  return bodies
    .map((line) => {
      const { choices } = JSON.parse(line.slice('data: '.length)) as {
        choices: { message?: { content: string }; delta?: { content?: string } }[];
      };
      return choices[0]?.message?.content ?? choices[0]?.delta?.content ?? '';
    })
    .join('');
}

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
