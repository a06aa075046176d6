import { describe, expect, it } from 'vitest';
import { ORDERS } from './order.ts';

describe('the order by response ratio', () => {
  const of = (waitedMs: number, ownMs: number, ttftSloMs?: number): number =>
    ORDERS['response-ratio'].urgencyOf({ waitedMs, ownMs, ttftSloMs });

  it('[Q5] lets short requests pass long ones at first, and no request wait for ever', () => {
    expect(of(0, 10)).toBeGreaterThan(of(100, 1000));
    expect(of(0, 10)).toBeLessThan(of(5000, 1000));
    expect(of(200, 300)).toBeGreaterThan(of(100, 300));
  });

  it('[Q5] puts those first whose deadline can only just be met, and others as without one', () => {
    expect(of(700, 200, 1000)).toBeGreaterThan(of(100_000, 1));
    expect(of(0, 200, 1000)).toBe(of(0, 200));
    expect(of(2000, 200, 1000)).toBe(of(2000, 200));
    expect(of(780, 200, 1000)).toBeGreaterThan(of(700, 200, 1000));
  });

  it('[Q114] takes own times as equal that differ by less than a tenth', () => {
    const { classOf } = ORDERS['response-ratio'];
    for (let ownMs = 0.5; ownMs < 60_000; ownMs *= 1.01) {
      const ratio = of(1000, ownMs) / (1050 / (ownMs + 20));
      expect(ratio).toBeGreaterThan(1 / 1.1);
      expect(ratio).toBeLessThanOrEqual(1 + 1e-9);
      expect(classOf(1.2 * ownMs + 4)).toBeGreaterThan(classOf(ownMs));
    }
  });
});
