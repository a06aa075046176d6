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

it('[Q256] draws pools whose prompts begin alike by their number and seed alone', () => {
  for (let number = 1; number <= 20; number++) {
    const [scenario] = chosenScenarios({ only: [`begin-alike-${number}`] });
    const { workload, pool } = scenario?.build(1, 'small') ?? {};
    const requests = workload?.requests ?? [];
    expect(requests.length).toBeGreaterThan(400);
    expect(pool?.servers.length).toBeGreaterThanOrEqual(2);
    const first = requests.filter((each) => each.blockIds[0] === requests[0]?.blockIds[0]);
    expect(first.length).toBeGreaterThan(1);
    expect(scenario?.build(1, 'small').workload).toEqual(workload);
  }
});
