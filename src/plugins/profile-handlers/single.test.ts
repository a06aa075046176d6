import { describe, expect, it } from 'vitest';
import { makeContext, makeRuntime } from '../../../test/makers.ts';
import { ConfigError } from '../../framework/error.ts';
import type { ProfileResult, SchedulingProfile } from '../../framework/scheduling.ts';
import { singleProfileHandler } from './single.ts';

function profile(name: string): readonly [string, SchedulingProfile] {
  return [name, { name, filters: [], scorers: [], picker: { pick: (all) => all } }];
}

function create(...names: readonly string[]): ReturnType<typeof singleProfileHandler.create> {
  return singleProfileHandler.create(
    {},
    { profiles: new Map(names.map(profile)), deciders: new Map() },
    makeRuntime(),
  );
}

describe('single-profile-handler', () => {
  it('runs its profile once and answers with what came of it', () => {
    const handler = create('default');
    const result: ProfileResult = { kind: 'exhausted', profile: 'default', candidates: 3 };
    const context = makeContext();
    expect(handler.next([], context)?.name).toBe('default');
    expect(handler.next([result], context)).toBeUndefined();
    expect(handler.conclude([result], context)).toEqual({
      primary: result,
      headers: new Map(),
      profiles: [result],
    });
  });

  it('refuses two profiles, and none', () => {
    expect(() => create('prefill', 'decode')).toThrow(ConfigError);
    expect(() => create()).toThrow('runs exactly one profile, got 0');
  });
});
