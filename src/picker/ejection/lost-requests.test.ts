import { expect, it } from 'vitest';
import { EjectionBed, POLICIES } from '../../../test/support/ejection-bed.ts';

it.each(Object.keys(POLICIES))(
  '[O398] an endpoint that works again stays in use, also while clients wait for requests that it has lost: policy %s',
  (name) => {
    const bed = new EjectionBed({ policy: POLICIES[name] ?? '', patienceMs: 600_000 });
    bed.run(5000);
    bed.set(3, 'stuck');
    bed.run(8000);
    expect(bed.isOut(3)).toBe(true);
    bed.set(3, 'works');
    bed.run(10_000);
    expect(bed.isOut(3)).toBe(false);
    bed.changes.length = 0;
    bed.run(60_000);
    expect(bed.changes).toEqual([]);
  },
);
