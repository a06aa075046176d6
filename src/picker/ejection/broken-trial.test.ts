import { describe, expect, it } from 'vitest';
import { EjectionBed } from '../../../test/support/ejection-bed.ts';
import { DEFAULT_EJECTION } from './ejection-plan.ts';

describe('an ejected endpoint', () => {
  it('[V618] fails a trial that it has begun well, after it refused, and waits for the next one', () => {
    const bed = new EjectionBed();
    bed.run(5000);
    bed.set(3, 'refuses');
    bed.run(500);
    expect(bed.isOut(3)).toBe(true);
    bed.set(3, 'breaks off at once');
    const from = bed.sent.length;
    bed.run(20_000);
    const trials = bed.sent.slice(from).filter(({ server }) => server === 3);
    expect(trials.length).toBeGreaterThan(2);
    for (const [at, trial] of trials.slice(1).entries()) {
      const gapMs = trial.at - (trials[at]?.at ?? 0);
      expect(gapMs).toBeGreaterThanOrEqual(DEFAULT_EJECTION.backoffMs);
    }
    bed.set(3, 'works');
    bed.run(10_000);
    expect(bed.isOut(3)).toBe(false);
  });
});
