import { describe, expect, it } from 'vitest';
import { makeRequest } from '../../../test/makers.ts';
import { drive, recordedPicker } from '../../../test/support/explain-bed.ts';
import type { EndpointId } from '../../framework/endpoint.ts';

describe('the ring', () => {
  it('has each of the last decisions, and none from long before them', () => {
    const test = recordedPicker('default', { decisionsMax: 1000 });
    const seen = drive(test, 6, 3000);
    expect(seen.slice(-1000).filter(({ id }) => test.explained(id) === undefined)).toEqual([]);
    expect(seen.slice(0, 1500).filter(({ id }) => test.explained(id) !== undefined)).toEqual([]);
  });

  it('keeps fewer where they would take too much memory', () => {
    const test = recordedPicker('default', { bytesMax: 100_000 });
    drive(test, 7, 3000);
    const { decisions, bytes } = test.recorder.ring.stats();
    expect(decisions).toBeLessThan(3000);
    // One segment more is being written.
    expect(bytes).toBeLessThan(200_000);
  });

  it('takes no more for a slot that many endpoints have had, and never mixes them up', () => {
    const test = recordedPicker('default');
    for (let turn = 0; turn < 200; turn++) {
      test.add(`pod-${turn}`);
      test.picker.route(makeRequest({ id: `r${turn}` })).done('completed');
      test.picker.pool.remove(`pod-${turn}` as EndpointId);
    }
    const outcomes = Array.from({ length: 200 }, (_, turn) => test.explained(`r${turn}`)?.outcome);
    expect(outcomes).toEqual(
      Array.from({ length: 200 }, (_, turn) =>
        expect.objectContaining({ kind: 'picked', endpoint: `pod-${turn}` }),
      ),
    );
  });
});
