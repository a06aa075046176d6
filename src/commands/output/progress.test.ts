import { afterEach, expect, it, vi } from 'vitest';
import { startProgress } from './progress.ts';

const { isTTY } = process.stderr;
afterEach(() => {
  process.stderr.isTTY = isTTY;
  vi.restoreAllMocks();
});

it('[O523] a bar changes no mode of the terminal, which nothing would set back after Ctrl-C', () => {
  let shown = '';
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    shown += String(text);
    return true;
  });
  process.stderr.isTTY = true;
  const bar = startProgress({ total: 10, format: '{value}/{total} requests' });
  try {
    bar.update(5);
  } finally {
    bar.stop();
  }
  expect(shown).toContain('5/10 requests');
  // Modes of a terminal, such as a hidden cursor, are set by a sequence that begins so.
  expect(shown).not.toContain('\u001b[?');
});
