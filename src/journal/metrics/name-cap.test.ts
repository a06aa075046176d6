import { describe, expect, it } from 'vitest';
import { createNameCap, OTHER } from './name-cap.ts';

describe('createNameCap', () => {
  it('admits names up to the cap and keeps those for good', () => {
    const cap = createNameCap(2);
    expect(['a', 'b', 'c', 'a', 'b'].map((name) => cap.admit(name))).toEqual([
      'a',
      'b',
      OTHER,
      'a',
      'b',
    ]);
  });

  it('tells known names from others without admitting any', () => {
    const cap = createNameCap(2);
    cap.admit('a');
    expect([cap.known('a'), cap.known('b'), cap.known('b')]).toEqual(['a', OTHER, OTHER]);
    expect(cap.admit('b')).toBe('b');
  });

  it('does not admit a name that is a text', () => {
    expect(createNameCap(2).admit('x'.repeat(257))).toBe(OTHER);
  });
});
