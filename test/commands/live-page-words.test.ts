import { join } from 'node:path';
import { expect, it } from 'vitest';

interface Term {
  readonly name: string;
  readonly picked: number;
  readonly runnerUp: number;
  readonly unit: string;
  readonly isPart: boolean;
}

/** The page is plain JavaScript, so that no types come with it. */
const page = (await import(join(import.meta.dirname, '../../ui/terms.js'))) as {
  reasonsOf(terms: readonly Term[]): string;
};
const term = (name: string, picked: number, runnerUp: number): Term => ({
  name,
  picked,
  runnerUp,
  unit: 'ms',
  isPart: true,
});

it('[O216] the live page names no difference that it would show as 0.00 ms', () => {
  const almost = term('queueing delay for others', 0.013, 0.014);
  expect(page.reasonsOf([almost, term('own prefill', 1, 1)])).toBe('');
  expect(page.reasonsOf([almost, term('own prefill', 1, 9)])).toBe(
    'It saves 8.0 ms of own prefill.',
  );
});
