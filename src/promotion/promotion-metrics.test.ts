import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { SimulatedClock } from '../runtime/clock/simulated-clock.ts';
import { Promotion } from './promotion.ts';
import { registerPromotionMetrics } from './promotion-metrics.ts';
import { type PromotionRule, promotionRule } from './promotion-rule.ts';

const NOTHING = {
  requests: 0,
  failed: 0,
  aborted: 0,
  undecided: {},
  latency: { count: 0, meanMs: 0, varianceMs2: 0, waitedMs: 0 },
};
const SOME = {
  requests: 3,
  failed: 0,
  aborted: 0,
  undecided: { deadline: 2 },
  latency: { count: 3, meanMs: 70, varianceMs2: 1, waitedMs: 0 },
};

/** The metrics page of a promotion that has nothing but outcomes, and a rule if there is one. */
function pageOf(rule: PromotionRule | undefined): Promise<string> {
  const none = { requests: 0, failed: 0 };
  const promotion = new Promotion({
    challenger: {
      start: () => undefined,
      setShare: () => undefined,
      withdraw: () => undefined,
      outcomes: () => ({
        challenger: SOME,
        incumbent: NOTHING,
        recent: { challenger: none, incumbent: none, undecided: none },
      }),
    },
    evidenceOf: () => undefined,
    rule,
    clock: new SimulatedClock(),
    onEvent: () => undefined,
  });
  const registry = new Registry();
  registerPromotionMetrics(registry, promotion);
  return registry.metrics();
}

it('[O247] gives no mean of answers that there are none of', async () => {
  const page = await pageOf(undefined);
  expect(page).toContain('pointsman_promotion_latency_mean_ms{arm="challenger"} 70\n');
  expect(page).not.toContain('latency_mean_ms{arm="incumbent"}');
  expect(page).toContain('pointsman_promotion_requests{arm="incumbent"} 0\n');
});

it('[G204] counts the requests that a scheduler left to its profiles, by reason', async () => {
  const page = await pageOf(undefined);
  const lines = page.split('\n').filter((line) => line.startsWith('pointsman_promotion_undecided'));
  expect(lines).toEqual(['pointsman_promotion_undecided{arm="challenger",reason="deadline"} 2']);
});

it('shows for each condition of a rule what there is, what it needs, and whether it is met', async () => {
  const page = await pageOf(promotionRule.parse({ shadow: 'mine' }));
  const lines = page
    .split('\n')
    .filter((line) => line.startsWith('pointsman_promotion_condition_'))
    .map((line) => line.replace('pointsman_promotion_condition_', ''));
  expect(lines).toEqual([
    'met{condition="decisions"} 0',
    'met{condition="gain"} 0',
    'met{condition="faults"} 1',
    'value{condition="decisions"} 0',
    'value{condition="gain"} Nan',
    'value{condition="faults"} 0',
    'needed{condition="decisions"} 10000',
    'needed{condition="gain"} 3',
    'needed{condition="faults"} 0',
  ]);
});
