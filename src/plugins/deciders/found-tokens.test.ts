import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { FoundTokens } from './found-tokens.ts';

/** The last requests found so many tokens each. */
function found(...tokens: readonly number[]): FoundTokens {
  const all = new FoundTokens();
  for (const each of tokens) all.add(each);
  return all;
}

describe('what requests wait less for a prompt because there are other servers', () => {
  it('[Q374] is half of it where they find nothing cached, and nothing where they find more than it has', () => {
    expect(found().avoidedMs(100, 0.02)).toBe(50);
    expect(found(0, 0).avoidedMs(100, 0.02)).toBe(50);
    expect(found(6000).avoidedMs(100, 0.02)).toBe(0);
    expect(found(0, 6000).avoidedMs(100, 0.02)).toBe(25);
    expect(found(6000).avoidedMs(0, 0.02)).toBe(0);
  });

  it('[Q374] is as much as they save by the shorter of waiting and computing anew (seed 7)', () => {
    const random = seededRandom(7);
    let sumMs = 0;
    for (let n = 0; n < 20_000; n++) {
      const waitMs = 100 * random.next();
      sumMs += waitMs - Math.min(waitMs, 0.02 * 2000);
    }
    expect(Math.abs(sumMs / 20_000 - found(2000).avoidedMs(100, 0.02))).toBeLessThan(0.5);
  });

  it('[Q374] goes by the last 64 requests', () => {
    const all = found(...Array.from({ length: 200 }, () => 6000));
    for (let n = 0; n < 64; n++) all.add(0);
    expect(all.avoidedMs(100, 0.02)).toBe(50);
  });
});
