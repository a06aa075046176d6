import { describe, expect, it } from 'vitest';
import {
  makeContext,
  makeDecision,
  makeEndpoint,
  makePool,
  makeRequest,
  makeRouted,
  makeRuntime,
} from '../../../../test/makers.ts';
import type { Endpoint } from '../../../framework/endpoint.ts';
import type { Observer } from '../../../framework/observer.ts';
import type { EndpointWriter } from '../../../framework/plugin.ts';
import type { Decision, ProfileResult, ProfileRun } from '../../../framework/scheduling.ts';
import type { PrefixSource } from '../../../picker/cores/scheduling-core.ts';
import { approxPrefixProducer } from '../../../plugins/producers/approx-prefix-producers.ts';
import { PickerMetrics } from '../metrics.ts';
import { metricsSubscriber } from '../metrics-subscriber.ts';

describe('prefix hits', () => {
  it('shows a prefix index and what the picks found in it', async () => {
    const metrics = new PickerMetrics();
    const pool = makePool([{}, {}]);
    const source = approxPrefixProducer.start(approxPrefixProducer.config.parse({}), {
      name: 'approx-prefix-cache-producer',
      pool: {} as EndpointWriter,
      runtime: makeRuntime(),
    });
    for (const endpoint of pool) source.onEndpointAdded?.(endpoint);
    const name = 'approx-prefix-cache-producer';
    metrics.observePrefixIndexes(pickerOf([{}, source], { name, type: name }), () => pool);
    metricsSubscriber(metrics).onRouted?.(makeRouted(makeEndpoint('a'), { cachedTokens: 320 }));
    const page = await metrics.page();
    const labels =
      'plugin_name="approx-prefix-cache-producer",plugin_type="approx-prefix-cache-producer"';
    expect(page).toContain(`llm_d_epp_prefix_indexer_size{${labels}} 0\n`);
    expect(page).toContain(`llm_d_epp_prefix_indexer_hit_ratio_sum{${labels}} 0.5\n`);
    expect(page).toContain(`llm_d_epp_prefix_indexer_hit_bytes_sum{${labels}} 1280\n`);
  });

  it('[D362] counts the most of a prompt that one endpoint had, of those left by filters and of all', async () => {
    const metrics = new PickerMetrics();
    const precise = { name: 'mine', type: 'precise-prefix-cache-producer' };
    const { onDecision } = metricsSubscriber(metrics);
    metrics.observePrefixIndexes(pickerOf([], precise), () => []);
    const pool = makePool([{}, {}, {}]);
    const [first, second] = pool as [Endpoint, Endpoint];
    const context = makeContext({ matchedBlocks: [1, 2, 100] });
    const picked = (endpoint: Endpoint, kept: readonly Endpoint[]) =>
      ({
        kind: 'picked',
        profile: endpoint.id,
        targets: [{ endpoint, score: 1 }],
        run: { kept: [kept] },
      }) as unknown as ProfileResult;
    const decode = picked(first, [first, second]);
    const prefill = picked(second, [second]);
    const event = { request: makeRequest(), candidates: pool, context };
    const tell = (decision: Partial<Decision> | undefined): void =>
      onDecision?.(makeDecision({ ...event, decision: decision as Decision | undefined }));
    tell({ primary: decode, profiles: [decode] });
    tell({ primary: decode, profiles: [decode, prefill], prefill: second });
    tell(undefined);
    const page = await metrics.page();
    const plugin = 'plugin_name="mine",plugin_type="precise-prefix-cache-producer"';
    for (const role of ['decode', 'prefill']) {
      const labels = `{endpoint_role="${role}",modality="none",${plugin}}`;
      expect(page).toContain(`prefix_best_predicted_cached_tokens_sum${labels} 128\n`);
      expect(page).toContain(`prefix_best_available_cached_tokens_sum${labels} 640\n`);
    }
  });

  it('[D362] asks no other endpoint where the one that computes the prompt has most of it', async () => {
    const metrics = new PickerMetrics();
    metrics.observePrefixIndexes(pickerOf([], { name: 'mine', type: 'prefix' }), () => []);
    const [first, second] = makePool([{}, {}]) as [Endpoint, Endpoint];
    const asked: Endpoint[] = [];
    const match = {
      totalBlocks: 10,
      blockTokens: 64,
      matchedBlocks: (endpoint: Endpoint) => (asked.push(endpoint), 2),
      mostBlocks: () => 2,
    };
    const context = { ...makeContext(), get: () => match as never };
    const run = { kept: [[first, second]] } as unknown as ProfileRun;
    const targets = [{ endpoint: first, score: 1 }];
    const primary: ProfileResult = { kind: 'picked', profile: 'p', targets, run };
    const decision = { primary, headers: new Map(), profiles: [primary] };
    const event = { request: makeRequest(), candidates: [first, second], context, decision };
    metricsSubscriber(metrics).onDecision?.(makeDecision(event));
    expect(asked).toEqual([first]);
    expect(await metrics.page()).toMatch(/prefix_best_available_cached_tokens_sum\{.*\} 128\n/);
  });

  it('[D351] counts the tokens that were expected to be cached where prompts are computed', async () => {
    const metrics = new PickerMetrics();
    const precise = { name: 'mine', type: 'precise-prefix-cache-producer' };
    const { onRouted } = metricsSubscriber(metrics);
    metrics.observePrefixIndexes(pickerOf([], precise), () => []);
    onRouted?.(makeRouted(makeEndpoint('a'), { cachedTokens: 320 }));
    const elsewhere = { prefill: makeEndpoint('b'), prefillCachedTokens: 64 };
    onRouted?.(makeRouted(makeEndpoint('a'), { cachedTokens: 320, ...elsewhere }));
    metrics.observePrefixIndexes(pickerOf([], undefined), () => []);
    onRouted?.(makeRouted(makeEndpoint('a'), { cachedTokens: 320 }));
    const page = await metrics.page();
    const plugin = 'plugin_name="mine",plugin_type="precise-prefix-cache-producer"';
    for (const [role, cached] of Object.entries({ decode: 320, prefill: 64 })) {
      const labels = `{endpoint_role="${role}",${plugin}}`;
      expect(page).toContain(`llm_d_epp_prefix_predicted_cached_tokens_sum${labels} ${cached}\n`);
      expect(page).toContain(`llm_d_epp_prefix_prompt_tokens_sum${labels} 640\n`);
    }
  });
});

/** A picker with these plugins. */
function pickerOf(observers: readonly Observer[], source: PrefixSource | undefined) {
  return { observers: () => observers, plugins: () => new Map(), prefixSource: () => source };
}
