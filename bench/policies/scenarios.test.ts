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
  expect(() => chosenScenarios({ only: ['memory-long'] })).toThrow('no scenario memory-long');
});
