import { expect, it } from 'vitest';
import { chosenScenarios } from './scenarios.ts';

it('[Q201] simulates the scenarios in which memory is short where they are named, and else not', () => {
  const named = chosenScenarios({ only: ['memory-short', 'decode-memory-short'] });
  const all = chosenScenarios({}).map(({ name }) => name);
  for (const { name, build } of named) {
    expect(all).not.toContain(name);
    const { pool, workload } = build(1, 'small');
    const least = Math.min(...pool.servers.map(({ kvTokens }) => kvTokens));
    const tokens = workload.requests.map((each) => each.promptTokens + each.outputTokens);
    expect(least / Math.max(...tokens)).toBeGreaterThan(1);
    expect(least / (tokens.reduce((sum, each) => sum + each, 0) / tokens.length)).toBeLessThan(60);
    expect(build(1, 'small').workload).toEqual(workload);
  }
  const only = ['memory-short-1', 'memory-short-2', 'decode-memory-short-1'];
  const drawn = chosenScenarios({ only }).map(({ build }) => build(1, 'small').pool.servers);
  const least = drawn.map((servers) => Math.min(...servers.map(({ kvTokens }) => kvTokens)));
  expect(Math.max(...least)).toBeLessThan(120_001);
  expect(new Set(least).size).toBe(3);
  expect(() => chosenScenarios({ only: ['memory-long'] })).toThrow('no scenario memory-long');
});
