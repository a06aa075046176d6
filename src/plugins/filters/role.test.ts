import { describe, expect, it } from 'vitest';
import { makeContext, makePool, makeRuntime } from '../../../test/makers.ts';
import type { FilterDefinition } from '../../framework/plugin.ts';
import { decodeFilter, encodeFilter, prefillFilter } from './role.ts';

const roles = [
  'decode',
  'prefill',
  'encode',
  'prefill-decode',
  'encode-prefill',
  'encode-prefill-decode',
  'both',
  'no such role',
];
const pool = makePool([...roles.map((role) => ({ labels: { 'llm-d.ai/role': role } })), {}]);

function kept(definition: FilterDefinition): readonly (string | undefined)[] {
  const filter = definition.create(definition.config.parse({}), makeRuntime());
  return filter.filter(pool, makeContext()).map(({ labels }) => labels.get('llm-d.ai/role'));
}

describe('role filters', () => {
  it('decode where that is said, or nothing is', () => {
    expect(kept(decodeFilter)).toEqual([
      'decode',
      'prefill-decode',
      'encode-prefill-decode',
      'both',
      undefined,
    ]);
  });

  it('prefill only where that is said', () => {
    expect(kept(prefillFilter)).toEqual([
      'prefill',
      'prefill-decode',
      'encode-prefill',
      'encode-prefill-decode',
      'both',
    ]);
  });

  it('[D263] follow an endpoint whose label changes, and another one that takes its slot', () => {
    const filter = decodeFilter.create(decodeFilter.config.parse({}), makeRuntime());
    for (const [role, count] of [
      ['decode', 1],
      ['prefill', 0],
      ['both', 1],
    ] as const) {
      const now = makePool([{ labels: { 'llm-d.ai/role': role } }]);
      expect(filter.filter(now, makeContext())).toHaveLength(count);
      expect(filter.filter(now, makeContext())).toHaveLength(count);
    }
  });

  it('encode only where that is said', () => {
    expect(kept(encodeFilter)).toEqual(['encode', 'encode-prefill', 'encode-prefill-decode']);
  });
});
