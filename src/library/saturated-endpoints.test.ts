import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { SimulatedClock } from '../runtime/clock/simulated-clock.ts';
import type { EmbeddedPicker } from './create-picker.ts';
import { createPicker } from './picker-maker.ts';

/** Flow control opens one by one where endpoints take requests, and not for those that take none. */

const FROM_ZERO = readFileSync('deploy/examples/scale-from-zero.yaml', 'utf8');
const IDLE = { waitingQueueSize: 0, runningRequests: 0, kvCacheUsage: 0 };
const ONE_EACH = { a: 1, b: 1, c: 1 };
const WAITING = 60;

const settle = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

class Bed {
  readonly clock = new SimulatedClock();
  readonly picker: EmbeddedPicker;
  /** Requests that have gone to each endpoint. */
  readonly sent: Record<string, number> = {};

  constructor(config: string) {
    this.picker = createPicker({ seed: 1, clock: this.clock, config });
  }

  add(id: string, isSampled = true): void {
    this.picker.addEndpoint({ id });
    if (isSampled) this.picker.setMetrics(id, IDLE);
  }

  send(requests: number): void {
    for (let n = 0; n < requests; n++) {
      const request = { model: 'm', promptTokens: 3000, outputTokensMax: 50 };
      void this.picker.enqueue(request).then(({ endpoint: { id } }) => {
        this.sent[id] = (this.sent[id] ?? 0) + 1;
      });
    }
  }

  async run(forMs: number): Promise<void> {
    for (const end = this.clock.now() + forMs; this.clock.now() < end; ) {
      this.clock.advanceTo(this.clock.now() + 10);
      await settle();
    }
  }
}

test.each([true, false])(
  '[Q283] new endpoints take no part in the saturation before their first sample, beside others: %j',
  async (isSampled) => {
    const bed = new Bed(FROM_ZERO);
    bed.add('a');
    bed.send(WAITING);
    await bed.run(20);
    for (const id of ['b', 'c']) bed.add(id, isSampled);
    await bed.run(100);
    expect(bed.sent).toEqual(isSampled ? ONE_EACH : { a: 1 });
    for (const id of ['b', 'c']) bed.picker.setMetrics(id, IDLE);
    await bed.run(100);
    expect(bed.sent).toEqual(ONE_EACH);
  },
);

test('[Q283] an ejected endpoint takes no part in the saturation', async () => {
  const bed = new Bed(`${FROM_ZERO}ejection: { enabled: true }\n`);
  const ids = ['a', 'b', 'c', 'd'];
  for (const id of ids) bed.add(id);
  for (let n = 0; n < 80; n++) {
    const id = ids[n % ids.length] ?? '';
    const routed = bed.picker.route({ model: 'm', promptTokens: 100 }, { subset: [id] });
    await bed.run(20);
    if (id !== 'd') routed.firstToken();
    routed.done(id === 'd' ? 'failed' : 'completed');
    for (const each of ids) bed.picker.setMetrics(each, IDLE);
  }
  bed.send(WAITING);
  await bed.run(100);
  expect(bed.sent).toEqual(ONE_EACH);
});
