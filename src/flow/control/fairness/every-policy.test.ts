import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  FlowControlBench,
  makeBand,
  PROGRAMS,
} from '../../../../test/decision/flow-control-bench.ts';
import type { Waiting } from '../../discipline.ts';
import { fairnessPolicies } from '../policy-types.ts';
import type { Fairness } from './fairness.ts';
import { turnPriority } from './turn-priority.ts';

const SEED = 19;

/** Every policy that a configuration can name, as it is without parameters. */
const POLICIES: ReadonlyMap<string, () => Fairness> = new Map([
  ...fairnessPolicies.map(({ type, config, create }) => [type, create(config.parse({}))] as const),
  ['turns', () => turnPriority(PROGRAMS, { timeWeight: 0.05, inactivityMs: 120_000 })],
]);

test.each([...POLICIES.keys()])('[Q43] %s serves all requests of all flows', (policy) => {
  const flows = fc.array(fc.constantFrom('one', 'two', 'four', 'a', 'b'), { maxLength: 60 });
  fc.assert(
    fc.property(flows, (ids) => {
      const defaultBand = makeBand({ fairness: policy });
      const bench = new FlowControlBench({ defaultBand, fairness: POLICIES }, 3);
      const waiting = ids.map((fairnessId) => bench.wait({ fairnessId }));
      const placed: Waiting[] = [];
      for (let round = 0; round <= ids.length; round++) {
        for (const one of bench.place()) {
          placed.push(one);
          bench.end(one);
        }
      }
      expect(new Set(placed)).toEqual(new Set(waiting));
      expect(placed).toHaveLength(waiting.length);
    }),
    { seed: SEED, numRuns: 100 },
  );
});
