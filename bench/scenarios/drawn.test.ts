import { describe, expect, it } from 'vitest';
import { drawnScenario } from './drawn.ts';

describe('drawnScenario', () => {
  it('depends on its number and seed alone', () => {
    const built = (name: string, seed: number): string =>
      JSON.stringify(drawnScenario(name)?.build(seed, 'small'));
    expect(built('drawn-3', 1)).toBe(built('drawn-3', 1));
    expect(built('drawn-3', 2)).not.toBe(built('drawn-3', 1));
    expect(drawnScenario('drawn-3')?.about).not.toBe(drawnScenario('drawn-4')?.about);
  });

  it('always has some thousand requests and at least three servers', () => {
    for (let number = 1; number <= 40; number++) {
      const { workload, pool } = drawnScenario(`drawn-${number}`)?.build(1, 'small') ?? {};
      expect(pool?.servers.length).toBeGreaterThanOrEqual(3);
      expect(workload?.requests.length).toBeGreaterThan(500);
      expect(workload?.requests.length).toBeLessThan(3000);
      expect(workload?.requests.every(({ promptTokens }) => promptTokens > 0)).toBe(true);
    }
  });

  it('has nothing for another name', () => {
    expect(drawnScenario('agents')).toBeUndefined();
  });
});
