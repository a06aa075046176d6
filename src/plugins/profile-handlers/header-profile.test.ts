import { describe, expect, it } from 'vitest';
import { makeContext, makeRequest, makeRuntime } from '../../../test/makers.ts';
import { ERRORS, RoutingError } from '../../framework/error.ts';
import type { SchedulingProfile } from '../../framework/scheduling.ts';
import { headerProfile } from './header-profile.ts';

function profile(name: string): readonly [string, SchedulingProfile] {
  return [name, { name, filters: [], scorers: [], picker: { pick: (all) => all } }];
}

function asked(names: readonly string[], value?: string): string | undefined {
  const parts = { profiles: new Map(names.map(profile)), deciders: new Map() };
  const handler = headerProfile.create(headerProfile.config.parse({}), parts, makeRuntime());
  const headers = new Map(value === undefined ? [] : [['epp-profile', value]]);
  return handler.next([], makeContext({ request: makeRequest({ headers }) }))?.name;
}

describe('header-profile-handler', () => {
  it('runs the profile that the header names, decode without one', () => {
    expect(asked(['decode', 'prefill'], 'prefill')).toBe('prefill');
    expect(asked(['decode', 'prefill'])).toBe('decode');
    expect(asked(['decode', 'prefill'], '')).toBe('decode');
  });

  it('runs the only profile whatever the header says', () => {
    expect(asked(['any'], 'prefill')).toBe('any');
  });

  it('[D328] refuses a request for a profile that is not there, which is no matter of load', () => {
    expect(() => asked(['decode', 'prefill'], 'encode')).toThrow(RoutingError);
    expect(() => asked(['decode', 'prefill'], 'encode')).toThrow('[unknown-profile]');
    const { status, droppedReason } = ERRORS['unknown-profile'];
    expect([status, droppedReason]).toEqual([429, undefined]);
  });

  it('refuses a request without the header where there is no default profile', () => {
    expect(asked(['prefill', 'encode'], 'encode')).toBe('encode');
    expect(() => asked(['prefill', 'encode'])).toThrow('header epp-profile is missing');
  });
});
