import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { HandoverTime } from './handover-time.ts';

/** After first tokens of prompts that should arrive after 50 to 550 ms (seed 5). */
function learned(tookMs: (arrivesAfterMs: number) => number, times = 300): HandoverTime {
  const random = seededRandom(5);
  const handover = new HandoverTime();
  for (let n = 0; n < times; n++) {
    const arrivesAfterMs = 50 + 500 * random.next();
    handover.learn(arrivesAfterMs, tookMs(arrivesAfterMs));
  }
  return handover;
}

describe('the time from a prefill server to the first token', () => {
  it('is expected to be prompt, link and the front end, before any has been seen', () => {
    expect(new HandoverTime().expected(100, 15)).toBeCloseTo(115);
  });

  it('[Q199] is learned from first tokens: what is always added, and what grows with the prompt', () => {
    const handover = learned((arrivesAfterMs) => 40 + 1.5 * arrivesAfterMs);
    for (const arrivesAfterMs of [50, 300, 550]) {
      const took = 40 + 1.5 * arrivesAfterMs;
      expect(Math.abs(handover.expected(arrivesAfterMs) / took - 1)).toBeLessThan(0.1);
    }
  });

  it('[Q199] hardly changes by a very late answer, and follows a link that is ten times slower', () => {
    const handover = learned((arrivesAfterMs) => arrivesAfterMs);
    handover.learn(300, 1e9);
    expect(handover.expected(300) / 300).toBeLessThan(1.05);
    const slow = learned((arrivesAfterMs) => 10 * arrivesAfterMs, 2000);
    expect(slow.expected(300) / 3000).toBeGreaterThan(0.8);
  });

  it('is never negative', () => {
    const handover = learned((arrivesAfterMs) => arrivesAfterMs - 1000);
    expect(handover.expected(1)).toBeGreaterThanOrEqual(0);
  });
});
