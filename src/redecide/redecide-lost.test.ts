import { expect, it } from 'vitest';
import { inLongRuns } from '../../test/support/long-runs.ts';
import { DEFAULT_CONFIG, madeCapture } from '../../test/support/made-capture.ts';
import { decidedOtherwise, REDECIDE_OPTIONS, redecideAll } from '../../test/support/redecided.ts';
import type { EndpointPicker } from '../picker/endpoint-picker.ts';

it.each([1, ...inLongRuns(2)])(
  '[O403] a capture gives the same decisions again where servers have lost requests, seed %i',
  async (seed) => {
    let lostMax = 0;
    const watch = ({ pool, ledger }: EndpointPicker): void => {
      lostMax = Math.max(lostMax, ...pool.snapshot().map((endpoint) => ledger.lost(endpoint)));
    };
    const config = `${DEFAULT_CONFIG}\ncapacity: { maxConcurrency: 30 }\n`;
    const records = madeCapture(config, 3000, seed, { lost: 0.05, openMax: 100, watch });
    expect(lostMax).toBeGreaterThan(3);
    const decided = await redecideAll(records, REDECIDE_OPTIONS);
    expect(decidedOtherwise(decided)).toEqual([]);
  },
);
