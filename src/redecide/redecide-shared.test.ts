import { expect, it } from 'vitest';
import { inLongRuns } from '../../test/support/long-runs.ts';
import { DEFAULT_CONFIG, madeCapture } from '../../test/support/made-capture.ts';
import { decidedOtherwise, REDECIDE_OPTIONS, redecideAll } from '../../test/support/redecided.ts';
import { EMBEDDED_CATALOGUE } from '../catalogue/built-in-catalogue.ts';
import { loadConfig } from '../config/load.ts';
import type { CaptureRecord } from '../journal/capture/capture-record.ts';

/** Its scorer of costs and its index of prompts are those of the default policy. */
const SHARING = DEFAULT_CONFIG.replace('plugins:\n', 'plugins:\n- type: queue-scorer\n').replace(
  '  - pluginRef: decode-filter\n',
  '  - pluginRef: decode-filter\n  - {pluginRef: queue-scorer, weight: 0.2}\n',
);

/** Of 600 requests a challenger decides every second one of those from 100 to 500 and at the end. */
function promoted(
  seed: number,
  { config = SHARING, lost = 0.03 }: { readonly config?: string; readonly lost?: number } = {},
): readonly CaptureRecord[] {
  let requests = 0;
  const plan = loadConfig({ text: config, source: 'test', catalogue: EMBEDDED_CATALOGUE });
  return madeCapture('default', 600, seed, {
    lost,
    tokensPerBlock: 400,
    commonBlocks: 9,
    openMax: 60,
    watch: (picker) => {
      requests += 1;
      if (requests % 500 === 0) picker.withdraw();
      if (requests % 500 !== 100) return;
      picker.challenge(plan, {
        name: 'canary',
        takes: ({ id }) => Number(id.slice(1)) % 2 === 0,
        onThrown: () => undefined,
      });
    },
  });
}

/** Without the record of the challenger, a decision of each of these differs. */
it.each([27, ...inLongRuns(5, 23, 46)])(
  '[G271] a capture gives the same decisions again where a challenger decides some by a scorer that it shares, seed %i',
  async (seed) => {
    const records = promoted(seed);
    const decided = await redecideAll(records, REDECIDE_OPTIONS);
    const byCanary = decided.filter(({ was }) => 'endpoint' in was && was.by === 'canary');
    expect(byCanary.length).toBeGreaterThan(150);
    expect(decidedOtherwise(decided)).toEqual([]);
  },
);

it('[G272] redecide says that it lacks the configuration of a promoted shadow, in a capture without it', async () => {
  const uncaptured = new Set<string>();
  const options = { ...REDECIDE_OPTIONS, onUncaptured: (what: string) => uncaptured.add(what) };
  const records = promoted(27);
  const own = await redecideAll(records, options);
  expect([decidedOtherwise(own).length, uncaptured.size]).toEqual([0, 0]);
  const earlier = records.filter(({ e }) => e !== 'challenge' && e !== 'withdraw');
  const decided = await redecideAll(earlier, options);
  expect(decidedOtherwise(decided).length).toBeGreaterThan(0);
  expect([...uncaptured]).toEqual(['the configuration of a promoted shadow (no record has it)']);
});

it('[G272] redecide says why it takes the decisions of a promoted shadow from the capture', async () => {
  const uncaptured = new Set<string>();
  const options = { ...REDECIDE_OPTIONS, onUncaptured: (what: string) => uncaptured.add(what) };
  const hashing = SHARING.replace('queue-scorer', 'rendezvous-scorer');
  const config = hashing.replace('{pluginRef: queue-scorer', '{pluginRef: rendezvous-scorer');
  const records = promoted(5, { config, lost: 0 });
  const byCanary = records.filter((record) => record.e === 'q' && record.d.by === 'canary');
  expect(byCanary.length).toBeGreaterThan(150);
  // Its scores are made of hashes of prompts, with which guessed prompts could be compared.
  expect(
    byCanary.filter(
      (record) => record.e === 'q' && 'endpoint' in record.d && !Number.isNaN(record.d.score),
    ),
  ).toEqual([]);
  await redecideAll(records, options);
  expect([...uncaptured]).toEqual([
    'what plugins learned for the shadow canary (the text of prompts (rendezvous-scorer))',
  ]);
});
