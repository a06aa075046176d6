import { describe, expect, it } from 'vitest';
import { makeRequest } from '../../../../test/makers.ts';
import { Programs } from './programs.ts';

const CONFIG = { halfLifeMs: 0, perSecond: 1, idleMs: 0, sweepMs: 0 };
const NOTHING = { promptTokens: 0, outputTokens: 0, latencyMs: 0 };
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

  it('[Q308] forgets a program some time after the end of its last request, wherever that was, and looks for one as often as it is asked to', () => {
    const programs = new Programs({ ...CONFIG, idleMs: 1000, sweepMs: 400 });
    const known = (at: number): string => {
      programs.of('now', at);
      return [...programs.all()].map(({ id }) => id).join(' ');
    };
    const ended = (fairnessId: string, at: number): void =>
      programs.ended(makeRequest({ fairnessId }), NOTHING, at);
    programs.of('idle', 0);
    programs.placed('here', 0, 0);
    programs.placedElsewhere(makeRequest({ fairnessId: 'there' }), 0);
    ended('later', 100);
    expect(known(1000)).toBe('idle here there later now');
    ended('now', 1000);
    programs.of('new', 1001);
    // It was looked at 1000 for the last time.
    expect([...programs.all()].map(({ id }) => id)).toContain('idle');
    programs.of('newer', 1400);
    expect(known(1400)).toBe('here there now new newer');
    for (const id of ['here', 'there']) ended(id, 1400);
    ended('there', 1401);
    programs.of('newest', 2401);
    expect(known(2401)).toBe('there newest now');
    expect(programs.dropped).toBe(6);
  });

  it('[Q308] service fades by a half-life, or by a part for each second', () => {
    const serviceAfter = (seconds: number, decay: object): number => {
      const programs = new Programs({ ...CONFIG, ...decay });
      programs.ended(makeRequest({ fairnessId: 'a' }), { ...NOTHING, promptTokens: 80 }, 0);
      programs.ended(makeRequest({ fairnessId: 'a' }), NOTHING, 500 * seconds);
      return programs.serviceAt(programs.of('a', 0), 1000 * seconds);
    };
    expect(serviceAfter(2, { halfLifeMs: 1000, perSecond: 0.1 })).toBeCloseTo(20);
    expect(serviceAfter(2, { halfLifeMs: 0, perSecond: 0.1 })).toBeCloseTo(0.8);
  });
});
