import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { makeContext, makeEndpoint, makeRequest, makeRuntime } from '../../../../test/makers.ts';
import { RolloutScreener } from '../../../plugins/screeners/disaggregatedset-rollout.ts';
import { rolloutConfig } from '../../../plugins/screeners/rollout-config.ts';
import { registerRollouts } from './rollout-metrics.ts';

test('[D66] shares of revisions and unmatched headers are on the metrics page', async () => {
  const labels = (revision: string, role: string): Record<string, string> => ({
    'disaggregatedset.x-k8s.io/revision': revision,
    'disaggregatedset.x-k8s.io/role': role,
  });
  const pool = [
    makeEndpoint('p', { labels: labels('a', 'prefill') }),
    makeEndpoint('d', { labels: labels('a', 'decode') }),
    makeEndpoint('e', { labels: labels('b', 'decode') }),
  ];
  const config = rolloutConfig.parse({
    scope: { labelSelector: '!other' },
    revisionGating: { mode: 'sum', requiredRoles: ['prefill', 'decode'] },
  });
  const writer = { snapshot: () => pool, observe: () => undefined, set: () => undefined };
  const host = { name: 'rollout', pool: writer, runtime: makeRuntime() };
  const screener = new RolloutScreener(config, host);
  const registry = new Registry();
  let observers: readonly object[] = [{}];
  registerRollouts(registry, () => observers);
  expect(await registry.metrics()).not.toContain('{');
  observers = [{}, screener];
  const headers = new Map([['x-llm-d-disagg-revision', 'c']]);
  screener.screen(pool, makeContext({ request: makeRequest({ headers }) }));
  const page = await registry.metrics();
  const plugin = 'plugin_type="disaggregatedset-rollout-screener",plugin_name="rollout"';
  const share = `llm_d_epp_disaggregatedset_revision_gating_share{${plugin},mode="sum",revision=`;
  expect(page).toContain(`${share}"a"} 1\n`);
  expect(page).toContain(`${share}"b"} 0\n`);
  expect(page).toContain(
    `llm_d_epp_disaggregatedset_strict_header_no_match_total{${plugin},selector="revision"} 1\n`,
  );
  expect(page).toContain(
    `llm_d_epp_disaggregatedset_strict_revision_no_match_total{${plugin}} 1\n`,
  );
});
