import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { Promotion } from './promotion.ts';
import { registerPromotionMetrics } from './promotion-metrics.ts';

const NOTHING = { requests: 0, failed: 0, latency: { count: 0, meanMs: 0, varianceMs2: 0 } };
const SOME = { requests: 3, failed: 0, latency: { count: 3, meanMs: 70, varianceMs2: 1 } };

it('[O247] gives no mean of answers that there are none of', async () => {
  const none = { requests: 0, failed: 0 };
  const promotion = new Promotion({
    challenger: {
      start: () => undefined,
      setShare: () => undefined,
      withdraw: () => undefined,
      outcomes: () => ({
        challenger: SOME,
        incumbent: NOTHING,
        recent: { challenger: none, incumbent: none },
      }),
    },
    evidenceOf: () => undefined,
    rule: undefined,
    clock: new SimulatedClock(),
    onEvent: () => undefined,
  });
  const registry = new Registry();
  registerPromotionMetrics(registry, promotion);
  const page = await registry.metrics();
  expect(page).toContain('pointsman_promotion_latency_mean_ms{arm="challenger"} 70\n');
  expect(page).not.toContain('latency_mean_ms{arm="incumbent"}');
  expect(page).toContain('pointsman_promotion_requests{arm="incumbent"} 0\n');
});
