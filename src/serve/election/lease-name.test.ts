import { describe, expect, test } from 'vitest';
import { leaseNameOf } from './lease-name.ts';

/** A DNS subdomain, as Kubernetes has it. */
const SUBDOMAIN = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;

describe('the Lease of a pool', () => {
  test('[D626] has the reference’s name where Kubernetes allows it', () => {
    expect(leaseNameOf({ namespace: 'ns', name: 'pool' })).toBe('epp-ns-pool.llm-d.ai');
    const longest = 'p'.repeat(253 - 'epp-ns-.llm-d.ai'.length);
    expect(leaseNameOf({ namespace: 'ns', name: longest })).toBe(`epp-ns-${longest}.llm-d.ai`);
  });

  test('[D626] has a shorter name with a hash of the pool where that is too long', () => {
    const long = (end: string): string =>
      leaseNameOf({ namespace: 'n'.repeat(63), name: `${'p-q.'.repeat(45)}p${end}` });
    for (const name of [long('a'), long('b')]) {
      expect(name.length).toBeLessThanOrEqual(253);
      expect(name).toMatch(SUBDOMAIN);
      expect(name).toMatch(/-[0-9a-f]{16}\.llm-d\.ai$/);
    }
    expect(long('a')).not.toBe(long('b'));
    expect(long('a')).toBe(long('a'));
  });
});
