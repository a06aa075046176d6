import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeFolder } from './folders.ts';

describe('makeFolder', () => {
  it('makes a folder with those around it, and leaves one that is there as it is', () => {
    const root = mkdtempSync(join(tmpdir(), 'pointsman-folder-'));
    try {
      const folder = join(root, 'a', 'b');
      makeFolder(folder);
      makeFolder(folder);
      expect(existsSync(folder)).toBe(true);
    } finally {
      rmSync(root, { recursive: true });
    }
  });

  it.skipIf(!existsSync('/proc/self'))('throws where the system does not allow one', () => {
    expect(() => makeFolder('/proc/nope/deeper')).toThrow(/nope/);
  });
});
