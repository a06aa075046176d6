import { describe, expect, it } from 'vitest';
import { nearest } from './nearest.ts';

const known = ['queue-scorer', 'prefix-cache-scorer', 'max-score-picker'];

describe('nearest', () => {
  it('guesses at a slip', () => {
    expect(nearest('queue-scorrer', known)).toBe(' (did you mean queue-scorer?)');
    expect(nearest('prefix-cache-score', known)).toBe(' (did you mean prefix-cache-scorer?)');
  });

  it('does not guess where nothing is near', () => {
    expect(nearest('entirely-different', known)).toBe('');
    expect(nearest('a', ['b'])).toBe(' (did you mean b?)');
    expect(nearest('', known)).toBe('');
    expect(nearest('queue-scorer', [])).toBe('');
  });

  it('[V220] compares a wrong name only with names of about its length, however long it is', () => {
    const names = Array.from({ length: 1000 }, (_, index) => `a-known-name-${index}`);
    // Compared with each of them, it would take minutes.
    expect(nearest('x'.repeat(2_000_000), names)).toBe('');
  });

  it('takes the first of equally near names', () => {
    expect(nearest('cat', ['bat', 'hat'])).toBe(' (did you mean bat?)');
  });
});
