import { describe, expect, it } from 'vitest';
import { Programs } from './programs.ts';

const CONFIG = { halfLifeMs: 0, perSecond: 1, idleMs: 0, sweepMs: 0 };
const IDLE_MAX = 20_000;

describe('Programs', () => {
  it('[Q287] compares the mean waits of programs, without those that still wait for their first request', () => {
    const programs = new Programs(CONFIG);
    programs.of('still waits', 0);
    expect(programs.fairnessIndex()).toBe(1);
    for (const id of ['a', 'b', 'b']) programs.placed(id, 100, 0);
    expect(programs.fairnessIndex()).toBe(1);
    programs.placed('c', 400, 0);
    // (100 + 100 + 400)² / (3 × (100² + 100² + 400²))
    expect(programs.fairnessIndex()).toBeCloseTo(36 / 54);
  });

  it('[Q155] forgets the older half of idle programs where there are too many, and none with a request in flight', () => {
    const programs = new Programs(CONFIG);
    programs.placed('in flight', 0, 0);
    for (let n = 1; n < IDLE_MAX; n++) programs.of(`p${n}`, n);
    programs.of('one more', IDLE_MAX);
    const ids = [...programs.all()].map(({ id }) => id);
    expect(ids).toContain('in flight');
    expect(ids).toContain('one more');
    expect(ids).not.toContain(`p${IDLE_MAX / 2}`);
    expect(ids).toContain(`p${IDLE_MAX / 2 + 1}`);
    expect(ids).toHaveLength(IDLE_MAX / 2 + 1);
    expect(programs.dropped).toBe(IDLE_MAX / 2);
  });
});
