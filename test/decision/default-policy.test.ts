import { describe, expect, it } from 'vitest';
import { createPicker } from '../../src/index.ts';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { tellFigure } from '../support/figure.ts';

describe('the default policy', () => {
  it.for([1, 2, 3, 4, 5])(
    'spreads 800 equal requests at once over 100 endpoints, max over mean at most 1.1, seed %i',
    (seed, context) => {
      const clock = new SimulatedClock();
      const picker = createPicker({ seed, clock });
      for (let at = 0; at < 100; at++) picker.addEndpoint({ id: `e${at}` });
      for (let at = 0; at < 100; at++) {
        const idle = { waitingQueueSize: 0, runningRequests: 0, kvCacheUsage: 0 };
        picker.setMetrics(`e${at}`, idle);
      }
      const counts = new Map<string, number>();
      for (let count = 0; count < 800; count++) {
        const { endpoint } = picker.route({ model: 'm', promptTokens: 1000, outputTokensMax: 100 });
        counts.set(endpoint.id, (counts.get(endpoint.id) ?? 0) + 1);
      }
      const ratio = Math.max(...counts.values()) / 8;
      if (seed === 1) {
        tellFigure(context, {
          what: 'a burst of 800 equal requests on 100 endpoints: max over mean',
          promised: '1.1',
          measured: ratio.toFixed(3),
        });
      }
      expect(ratio).toBeLessThanOrEqual(1.1);
      picker.stop();
    },
  );
});
