import { afterEach, expect, it, vi } from 'vitest';
import { startProgress } from './progress.ts';

const { isTTY } = process.stderr;
afterEach(() => {
  process.stderr.isTTY = isTTY;
  vi.restoreAllMocks();
});

/** What is written to stderr from now on. */
function shownOf(): () => string {
  let shown = '';
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    shown += String(text);
    return true;
  });
  return () => shown;
}

it('[O523] a bar changes no mode of the terminal, which nothing would set back after Ctrl-C', () => {
  const shown = shownOf();
  process.stderr.isTTY = true;
  const bar = startProgress({ total: 10, format: '{value}/{total} requests' });
  try {
    bar.update(5);
  } finally {
    bar.stop();
  }
  expect(shown()).toContain('5/10 requests');
  // Modes of a terminal, such as a hidden cursor, are set by a sequence that begins so.
  expect(shown()).not.toContain('\u001b[?');
});

it.each([true, false])(
  '[O528] marks thousands in the counts of progress, on a terminal: %s',
  (isTTY) => {
    const shown = shownOf();
    process.stderr.isTTY = isTTY;
    const format = '{value}/{total} requests, {failed} failed';
    const options = { total: 20_000, format, payload: { failed: 0 }, label: 'a', lines: 2 };
    const bar = startProgress(options);
    try {
      bar.update(12_345, { failed: 1234 });
    } finally {
      bar.stop();
    }
    expect(shown()).toContain('12,345/20,000 requests');
    expect(shown().includes('1,234 f')).toBe(isTTY);
  },
);
