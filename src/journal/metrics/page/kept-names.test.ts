import { describe, expect, it, test } from 'vitest';
import { makeEndpoint, makeRequest, makeRouted } from '../../../../test/makers.ts';
import { RequestRules } from '../../../endpoints/rewrites/request-rules.ts';
import { seededRandom } from '../../../runtime/seeded-random.ts';
import { PickerMetrics } from '../metrics.ts';
import { metricsSubscriber } from '../metrics-subscriber.ts';
import { KeptNames } from './kept-names.ts';
import { createNameCap, OTHER } from './name-cap.ts';

const RULE = { rule: 'rw', models: ['old'], targets: [{ model: 'new' }] };

/** The metrics of a picker with a rule that sends `old` to `new`, after so many other models. */
function afterModels(count: number, linesMax?: number): PickerMetrics {
  const metrics = new PickerMetrics({ linesMax });
  const observer = metricsSubscriber(metrics);
  const rules = new RequestRules(seededRandom(1));
  rules.setRewrites([RULE]);
  metrics.keptModels.follow(() => rules.models);
  for (let index = 0; index < count; index++) {
    observer.onRouted?.(
      makeRouted(makeEndpoint('a'), { request: makeRequest({ model: `m${index}` }) }),
    );
    metrics.decisions.attempt(`m${index}`, makeEndpoint('a')).value += 1;
    metrics.decisions.rewrite('for-all', `m${index}`, 'any').value += 1;
  }
  const rewrite = { requestedModel: 'old', rule: 'rw' };
  const request = makeRequest({ model: 'new', rewrite, fairnessId: 'mine', priority: 3 });
  observer.onRouted?.(makeRouted(makeEndpoint('a'), { request }));
  metrics.decisions.attempt('new', makeEndpoint('a')).value += 1;
  return metrics;
}

describe('models that rules name', () => {
  test('[D620] have labels of their own however many names clients have invented', async () => {
    const page = await afterModels(1200, 2_000_000).page();
    expect(page).toContain(
      'llm_d_epp_request_total{fairness_id="mine",model_name="old",priority="3",target_model_name="new"} 1',
    );
    expect(page).toMatch(/scheduler_attempts_total\{[^}]*target_model_name="new"\} 1/);
    expect(page).toContain(
      'model_rewrite_decisions_total{model_name="old",model_rewrite_name="rw",target_model="new"} 1',
    );
    expect(page).toMatch(/request_total\{[^}]*model_name="other"[^}]*\} 200/);
  });

  test('[D620] share a series without room for more, which still has their names', async () => {
    const page = await afterModels(60, 3000).page();
    expect(page).toContain(
      'llm_d_epp_request_total{fairness_id="other",model_name="old",priority="other",target_model_name="new"} 1',
    );
    expect(page).toContain('model_rewrite_name="rw",target_model="new"} 1');
  });
});

describe('createNameCap with kept names', () => {
  it('[D620] has them beside as many others as without, and follows what is kept', () => {
    const kept = new KeptNames();
    const cap = createNameCap(1, kept);
    let names: ReadonlySet<string> = new Set(['k']);
    kept.follow(() => names);
    expect(['k', 'a', 'b'].map((name) => cap.admit(name))).toEqual(['k', 'a', OTHER]);
    expect([cap.known('k'), cap.known('b')]).toEqual(['k', OTHER]);
    names = new Set();
    expect(cap.admit('k')).toBe(OTHER);
  });
});
