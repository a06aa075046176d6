import { describe, expect, it } from 'vitest';
import { createOpenBody } from '../../src/openai/parsers/open-body.ts';
import { BODIES } from './body-tables.ts';

const openBody = createOpenBody({ bodyBytesMax: 1_000_000, hashSeed: 7 });

/** In single bytes, as a proxy may send them. */
function verdictOn(path: string, body: string): 'passes' | 'refuses' {
  try {
    const reader = openBody({ id: 'r', path, headers: new Map([[':path', path]]) });
    for (const byte of Buffer.from(body)) reader.push(Uint8Array.of(byte));
    reader.end();
    return 'passes';
  } catch {
    return 'refuses';
  }
}

describe('bodies beside the reference’s parsers', () => {
  it.each(BODIES)('[D455] $path: $what', ({ path, body, reference, ours }) => {
    const [wanted] = (ours ?? reference).split(':');
    expect(verdictOn(path, body)).toBe(wanted);
  });

  it('[D455] have a reason only where they are judged otherwise', () => {
    const told = BODIES.filter(({ ours }) => ours !== undefined);
    expect(told.filter(({ ours, reference }) => ours?.startsWith(reference))).toEqual([]);
    const passing = told.filter(({ reference }) => reference === 'refuses');
    // As in docs/conformance.md.
    expect([BODIES.length, passing.length, told.length]).toEqual([117, 21, 27]);
  });
});
