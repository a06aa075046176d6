import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { makePool, makeRequest, makeRouted } from '../../../../test/makers.ts';
import { registerInFlight } from './inflight-metrics.ts';

const labelsOf = (endpoint: string, fairnessId: string, priority: number): string =>
  `endpoint_name="${endpoint}",namespace="",fairness_id="${fairnessId}",priority="${priority}",producer_name="inflight-load-producer"`;

test.each<readonly [number | undefined, number, string]>([
  [undefined, 100, 'the first token'],
  [40, 280, 'its end, with its answer'],
])(
  '[D325] [D435] a prompt that is computed elsewhere is in flight at both, with an answer of `%s`: %s tokens until %s',
  async (estimatedOutputTokens, tokens, _until) => {
    const pool = makePool([{}, {}]);
    const [decoder, prefill] = pool;
    if (decoder === undefined || prefill === undefined) throw new Error('no endpoints');
    const request = makeRequest({ promptTokens: 100 });
    const routed = {
      ...makeRouted(decoder, { request, cachedTokens: 0, prefill }),
      prefillCachedTokens: 30,
      estimatedOutputTokens,
    };
    const registry = new Registry();
    registerInFlight(
      registry,
      () => [
        { routed, servedBy: undefined, firstTokenAt: undefined },
        { routed, servedBy: undefined, firstTokenAt: 7 },
      ],
      () => pool,
    );
    const page = await registry.metrics();
    expect(page).toContain(`inflight_requests{${labelsOf('pod-0', 'default-flow', 0)}} 2\n`);
    expect(page).toContain(`inflight_tokens{${labelsOf('pod-0', 'default-flow', 0)}} ${tokens}\n`);
    expect(page).toContain(`inflight_requests{${labelsOf('pod-1', 'default-flow', 0)}} 1\n`);
    expect(page).toContain(`inflight_tokens{${labelsOf('pod-1', 'default-flow', 0)}} 70\n`);
  },
);

test('[D100] requests in flight are shown by endpoint, fairness id and priority', async () => {
  const pool = makePool([{}, {}, {}]);
  const [first, second] = pool;
  if (first === undefined || second === undefined) throw new Error('no endpoints');
  const request = makeRequest({ fairnessId: 'team-a', priority: 5, promptTokens: 100 });
  const routed = makeRouted(first, { request, cachedTokens: 40 });
  const open = [
    { routed, servedBy: undefined, firstTokenAt: undefined },
    { routed, servedBy: undefined, firstTokenAt: 7 },
    // The proxy used a fallback.
    { routed, servedBy: second.address, firstTokenAt: undefined },
  ];
  const registry = new Registry();
  registerInFlight(
    registry,
    () => open,
    () => pool,
  );
  const page = await registry.metrics();
  expect(page).toContain(`inflight_requests{${labelsOf('pod-0', 'team-a', 5)}} 2\n`);
  expect(page).toContain(`inflight_tokens{${labelsOf('pod-0', 'team-a', 5)}} 60\n`);
  expect(page).toContain(`inflight_requests{${labelsOf('pod-1', 'team-a', 5)}} 1\n`);
  expect(page).toContain(`inflight_requests{${labelsOf('pod-2', 'default-flow', 0)}} 0\n`);
});
