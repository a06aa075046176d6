import { expect, it } from 'vitest';
import { inLongRuns } from '../../test/support/long-runs.ts';
import { DEFAULT_CONFIG, madeCapture } from '../../test/support/made-capture.ts';
import { decidedOtherwise, REDECIDE_OPTIONS, redecideAll } from '../../test/support/redecided.ts';
import type { EndpointPicker } from '../picker/endpoint-picker.ts';

it.each([1, ...inLongRuns(2)])(
  '[Q338] a capture gives the same decisions again where servers have shown how many requests they run at a time, seed %i',
  async (seed) => {
    let known = 0;
    const watch = ({ pool, ledger }: EndpointPicker): void => {
      const bounded = pool.snapshot().filter((each) => ledger.load(each).runningMax === 2);
      known = Math.max(known, bounded.length);
    };
    const records = madeCapture(DEFAULT_CONFIG, 2000, seed, {
      sequencesMax: 2,
      openMax: 250,
      churn: 0,
      watch,
    });
    expect(known).toBeGreaterThan(3);
    const decided = await redecideAll(records, REDECIDE_OPTIONS);
    expect(decidedOtherwise(decided)).toEqual([]);
  },
);
