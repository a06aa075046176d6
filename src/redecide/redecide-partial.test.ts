import { expect, it } from 'vitest';
import { CAPTURE_HEAD, capturedRequest, capturedServer } from '../../test/captured-records.ts';
import { REDECIDE_OPTIONS, redecideAll } from '../../test/support/redecided.ts';
import type { CaptureHead, CaptureRecord } from '../journal/capture/capture-record.ts';
import { RedecideTally } from './redecide-tally.ts';

const CONFIG = { apiVersion: 'llm-d.ai/v1alpha1', kind: 'EndpointPickerConfig' };
const head = (file: number): CaptureHead => ({ ...(CAPTURE_HEAD as CaptureHead), file });
/** A request that can go to one endpoint only; `was` is where it went. */
const sent = (n: number, was = 'a'): CaptureRecord =>
  capturedRequest(n, { t: n, d: { endpoint: was, score: 0 } });

async function tallied(...records: readonly CaptureRecord[]): Promise<RedecideTally> {
  const tally = new RedecideTally(0, { isComparison: false });
  const onUncaptured = tally.addUncaptured.bind(tally);
  const options = { ...REDECIDE_OPTIONS, onUncaptured };
  for (const each of await redecideAll(records, options)) tally.add(each);
  return tally;
}

it('[G246] redecide says what the configuration knew that is not in the capture, where decisions differ', async () => {
  const config = { ...CONFIG, plugins: [{ type: 'rendezvous-scorer' }] };
  const earlier = { ...head(0), version: 2, shared: true, config } as const;
  const differing = await tallied(earlier, capturedServer('a'), sent(0, 'gone'));
  expect(differing.text()).toContain(
    '\ndecided again without what is not in the capture: the text of prompts (rendezvous-scorer), what other pickers did (--replicas-nats), the rules of the earlier Pointsman that wrote version 2\n',
  );
  const same = await tallied({ ...head(0), version: 2 }, capturedServer('a'), sent(0));
  expect(same.summary()).toMatchObject({ identical: 1, uncaptured: { length: 1 } });
  expect(same.text()).not.toContain('decided again without');
});

it('[G258] redecide says so of bursts and of media, too, which are read before the decision', async () => {
  const plugins = ['burst-prefix-cache-producer', 'mm-embeddings-cache-producer'];
  const config = { ...CONFIG, plugins: plugins.map((type) => ({ type })) };
  const differing = await tallied({ ...head(0), config }, capturedServer('a'), sent(0, 'gone'));
  expect(differing.text()).toContain(
    'which requests came in one burst (burst-prefix-cache-producer), which images, videos and sounds requests have (mm-embeddings-cache-producer)',
  );
});

const whole = [head(0), capturedServer('a'), sent(0), sent(1)];

it('[G244] redecide counts decisions apart that come after records which are missing', async () => {
  const gap: CaptureRecord = { e: 'gap', records: 3 };
  const tally = await tallied(...whole, gap, sent(2), sent(3, 'gone'));
  expect(tally.summary()).toMatchObject({
    decisions: 4,
    identical: 3,
    afterMissing: { decisions: 2, identical: 1 },
  });
  expect(tally.text()).toContain(
    '\n2 of them come after records that are missing: 50.000 % of these are identical, of the others 100.000 %\n',
  );
});

it('[G244] redecide says so of a run whose first files are gone, and of no later run', async () => {
  const alone = await tallied(head(3), capturedServer('a'), sent(0, 'gone'), sent(1));
  expect(alone.text()).toContain('missing: 50.000 % of these are identical\n');
  const both = await tallied(head(3), capturedServer('a'), sent(0), ...whole);
  expect(both.summary()).toMatchObject({ runs: 2, afterMissing: { decisions: 1 } });
  expect((await tallied(...whole)).summary()).not.toHaveProperty('afterMissing');
});
