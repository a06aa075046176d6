import { expect, it } from 'vitest';
import { createPicker } from '../../src/index.ts';
import { summarize } from '../../src/lab/run-summary/summarize.ts';
import { simulate } from '../../src/lab/simulate/simulate.ts';
import { otherScenario } from './other-engines.ts';
import type { Scenario } from './scenario.ts';

const first = (scenario: Scenario) => {
  const { workload, ...run } = scenario.build(1, 'small');
  return { ...run, workload: { ...workload, requests: workload.requests.slice(0, 600) } };
};

it('[Q132] is on engines by other rules, too, below each published policy in the geometric mean (one pool of each kind, seed 1)', () => {
  const names = [1, 2, 3].map((number) => `other-${number}`);
  const meanOf = (config: string): number =>
    names.reduce((product, name) => {
      const found = otherScenario(name) as Scenario;
      const summary = summarize(simulate({ ...first(found), config, createPicker, seed: 1 }));
      expect(summary.failed).toBe(0);
      return product * summary.ttftMeanMs ** (1 / names.length);
    }, 1);
  const ours = meanOf('default');
  for (const rival of ['sticky', 'preble', 'lmetric']) expect(ours / meanOf(rival)).toBeLessThan(1);
});

it('is equal for equal numbers and seeds', () => {
  const [a, b] = [otherScenario('other-4'), otherScenario('other-4')];
  expect(a?.build(1, 'small').workload).toEqual(b?.build(1, 'small').workload);
  expect(otherScenario('drawn-1')).toBeUndefined();
});
