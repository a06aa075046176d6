import { expect, it } from 'vitest';
import { inLongRuns } from '../../test/support/long-runs.ts';
import { DEFAULT_CONFIG, madeCapture } from '../../test/support/made-capture.ts';
import { decidedOtherwise, REDECIDE_OPTIONS, redecideAll } from '../../test/support/redecided.ts';
import { EMBEDDED_CATALOGUE } from '../catalogue/built-in-catalogue.ts';
import { loadConfig } from '../config/load.ts';
import type { CaptureRecord } from '../journal/capture/capture-record.ts';

const LONG = { tokensPerBlock: 4000, commonBlocks: 9 };
const IMPATIENT = DEFAULT_CONFIG.replace('{enabled: true}', '{enabled: true, maxWaitMs: 200}');
const PLACING = DEFAULT_CONFIG.replace('{enabled: true}', '{enabled: false}');

const LABELLED = DEFAULT_CONFIG.replace(
  'plugins:\n',
  `plugins:
- {type: label-producer, parameters: {label: zone, attributeKey: zone}}
`,
);

type Case = [what: string, seed: number, config: string];

/** Requests that waited while a configuration was adopted. */
function waitedAcross(records: readonly CaptureRecord[]): number {
  let adoptedAt = Number.NEGATIVE_INFINITY;
  let across = 0;
  for (const record of records) {
    if (record.e === 'adopt') adoptedAt = record.t;
    else if (record.e === 'q' && record.t - (record.waitedMs ?? 0) < adoptedAt) across += 1;
  }
  return across;
}

it.each([
  ['lets them wait for less long', 1, IMPATIENT],
  ['lets none wait', 2, PLACING],
  ['writes attributes of endpoints as it begins', 5, LABELLED],
  ...inLongRuns<Case>(['is another policy', 3, 'round-robin']),
] satisfies Case[])(
  '[G269] a capture gives the same decisions again where requests wait while a configuration is adopted that %s, seed %i',
  async (_what, seed, other) => {
    const records = madeCapture([DEFAULT_CONFIG, other], 800, seed, LONG);
    expect(waitedAcross(records)).toBeGreaterThan(5);
    expect(decidedOtherwise(await redecideAll(records, REDECIDE_OPTIONS))).toEqual([]);
  },
);

it.each([4, ...inLongRuns(2, 3)])(
  '[G270] a capture gives the same decisions again where requests that wait come to a challenger, and some wait too long, seed %i',
  async (seed) => {
    const catalogue = EMBEDDED_CATALOGUE;
    const plan = loadConfig({ text: DEFAULT_CONFIG, source: 'test', catalogue });
    const lossy = { tokensPerBlock: 400, commonBlocks: 9, openMax: 60, lost: 0.03 };
    let requests = 0;
    const records = madeCapture(IMPATIENT, 600, seed, {
      ...lossy,
      watch: (picker) => {
        requests += 1;
        if (requests % 100 === 0) picker.withdraw();
        if (requests % 100 !== 80) return;
        // Of all that wait now, too.
        const takes = (): boolean => true;
        picker.challenge(plan, { name: 'canary', takes, onThrown: () => undefined });
      },
    });
    const asked = records.filter((record) => record.e === 'q');
    const byCanary = asked.filter(({ d, waitedMs = 0 }) => d.by === 'canary' && waitedMs > 0);
    const late = byCanary.filter(({ d }) => 'error' in d && d.error === 'queue-timeout');
    expect([byCanary.length > late.length, late.length > 0]).toEqual([true, true]);
    expect(decidedOtherwise(await redecideAll(records, REDECIDE_OPTIONS))).toEqual([]);
  },
);
