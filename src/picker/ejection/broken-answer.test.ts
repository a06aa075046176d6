import { describe, expect, it } from 'vitest';
import { EjectionBed, ejectedAfter } from '../../../test/support/ejection-bed.ts';

describe('an endpoint whose answers begin and break off', () => {
  it('[V430] is ejected within 2 s, costs at most 0.1 percent of requests after that, and comes back', () => {
    const bed = new EjectionBed();
    bed.run(5000);
    const from = bed.clock.now();
    bed.set(3, 'breaks off');
    bed.run(120_000);
    const afterMs = ejectedAfter(bed, 3, from);
    expect(afterMs).toBeLessThanOrEqual(2000);
    const later = bed.sent.filter(({ at }) => at > from + afterMs);
    const share = later.filter(({ failed }) => failed).length / later.length;
    expect(share).toBeLessThanOrEqual(0.001);
    bed.set(3, 'works');
    bed.run(10_000);
    expect(bed.isOut(3)).toBe(false);
  });

  it('[V430] does not come back for trials that begin their answers well and then break them off', () => {
    const bed = new EjectionBed();
    bed.run(5000);
    bed.set(3, 'breaks off');
    bed.run(120_000);
    const back = bed.changes.filter((change) => change.endsWith('back'));
    expect(back.length).toBeLessThanOrEqual(1);
  });
});
