import { expect, it } from 'vitest';
import { makeRequest } from '../../../test/makers.ts';
import type { Programs } from './fairness/programs.ts';
import { fairnessPolicies } from './policy-types.ts';

function programsOf(parameters: object): Programs {
  const policy = fairnessPolicies.find(({ type }) => type === 'program-aware-fairness');
  const programs = policy?.create(policy.config.parse(parameters) as never)().programs;
  if (programs === undefined) throw new Error('it has no programs');
  return programs;
}

const SERVED = { promptTokens: 80, outputTokens: 0, latencyMs: 0 };
const ended = (programs: Programs, fairnessId: string, at: number): void =>
  programs.ended(makeRequest({ fairnessId }), SERVED, at);

it('[Q308] halves service after the seconds that are configured, and forgets programs after those', () => {
  const programs = programsOf({
    lasHalfLifeSeconds: 2,
    evictionTtlSeconds: 10,
    evictionSweepSeconds: 1,
  });
  ended(programs, 'a', 0);
  expect(programs.serviceAt(programs.of('a', 0), 2000)).toBeCloseTo(40);
  programs.of('b', 9999);
  expect([...programs.all()].map(({ id }) => id)).toEqual(['a', 'b']);
  programs.of('c', 11_000);
  expect([...programs.all()].map(({ id }) => id)).toEqual(['b', 'c']);
});

it('[Q308] multiplies service by the factor for a second, where there is no half-life', () => {
  const programs = programsOf({ lasHalfLifeSeconds: 0, lasDecayFactor: 0.5 });
  ended(programs, 'a', 0);
  expect(programs.serviceAt(programs.of('a', 0), 2000)).toBeCloseTo(20);
});
