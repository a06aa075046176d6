import { describe, expect, it } from 'vitest';
import { seededRandom } from '../runtime/seeded-random.ts';
import { PairedGain } from './paired-gain.ts';

describe('the gain of one scheduler over another', () => {
  it('is a percentage of the predicted time of the scheduler in charge', () => {
    const gain = new PairedGain();
    for (let n = 0; n < 10_000; n++) gain.add(200, n % 2 === 0 ? 180 : 190);
    expect(gain.report()).toMatchObject({ decisions: 10_000, percent: 7.5 });
    expect(gain.report().lowPercent).toBeCloseTo(7.5);
  });

  it('[G284] is never more than all of the time, however much the differences vary', () => {
    const gain = new PairedGain();
    for (let n = 0; n < 10_000; n++) gain.add(n < 500 ? 10_000 : 1, 0.5);
    const { percent, lowPercent, highPercent } = gain.report();
    expect(lowPercent).toBeLessThan(percent);
    expect(highPercent).toBe(100);
  });

  it('has no interval before there are enough decisions', () => {
    const gain = new PairedGain();
    for (let n = 0; n < 4999; n++) gain.add(200, 100);
    expect(gain.report().lowPercent).toBeNaN();
    gain.add(200, 100);
    expect(gain.report().lowPercent).toBeCloseTo(50);
  });

  it('has an interval that contains the true gain about as often as it claims, for correlated decisions, too', () => {
    const seed = 7;
    let held = 0;
    const rounds = 300;
    for (let round = 0; round < rounds; round++) {
      const random = seededRandom(seed).fork(`round ${round}`);
      const gain = new PairedGain();
      // An autoregressive difference of 50 decisions' memory around 5 ms of 100.
      let wander = 0;
      for (let n = 0; n < 20_000; n++) {
        wander = 0.98 * wander + (random.next() - 0.5) * 20;
        gain.add(100, 95 - wander);
      }
      const { lowPercent, highPercent } = gain.report();
      if (lowPercent <= 5 && 5 <= highPercent) held += 1;
    }
    // 95 % of 300 is 285, give or take 4; batches of so much memory left are a little too sure.
    // Seed 7.
    expect(held).toBeGreaterThan(264);
  });
});
