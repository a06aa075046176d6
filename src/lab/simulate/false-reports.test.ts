import { expect, it } from 'vitest';
import { PRESETS } from '../../../stub-server/presets/presets.ts';
import { createPicker, type EmbeddedPicker } from '../../index.ts';
import type { PickerOptions } from '../../library/create-picker.ts';
import { mean } from '../run-summary/statistics.ts';
import { uniformPool } from './pool-spec.ts';
import { simulate } from './simulate.ts';

const SERVER = {
  labels: {},
  latency: PRESETS.study.latency,
  kvTokens: 400_000,
  sequencesMax: 64,
  batchedTokensMax: 8192,
  admissionMs: 15,
  jitter: 0.05,
};
const requests = Array.from({ length: 600 }, (_, at) => ({
  atMs: 200 + 40 * at,
  model: 'm',
  promptTokens: 1000,
  outputTokens: 40,
  blockIds: [1000 + at],
}));

/** A picker whose servers report that so many more requests wait than do. */
function deceived(more: number): (options: PickerOptions) => EmbeddedPicker {
  return (options) => {
    const picker = createPicker(options);
    return {
      ...picker,
      setMetrics: (id, sample) =>
        picker.setMetrics(id, {
          ...sample,
          waitingQueueSize: sample.waitingQueueSize + more,
        }),
    };
  };
}

it('[Q251] requests wait little for servers that report queues which they do not have', () => {
  const pool = uniformPool(4, SERVER);
  const options = { workload: { blockTokens: 64, requests }, pool, config: 'default', seed: 1 };
  const meanTtftMs = (more: number): number =>
    mean(
      simulate({ ...options, createPicker: deceived(more) }).requests.map(({ ttftMs }) => ttftMs),
    );
  // Before the first answers they are believed.
  expect(meanTtftMs(50)).toBeLessThan(1.5 * meanTtftMs(0));
});
