import { join } from 'node:path';
import { expect, it } from 'vitest';

/** The page is plain JavaScript, so that no types come with it. */
const ui = (file: string): Promise<unknown> => import(join(import.meta.dirname, '../../ui', file));
const page = (await ui('terms.js')) as {
  termsOf(profile: object): readonly { readonly name: string }[];
};
const list = (await ui('decisions.js')) as { becauseOf(decision: object): string };
const explained = (await ui('explained.js')) as {
  headline(decision: object, nameOf: (id: string) => string): string;
  outOf(decision: object): string;
};
const documents = (await ui('documents.js')) as { undecidedNote(shadow: object): string };

it('[O525] the live page says that others were ejected, late or full, and not that there was no other', () => {
  const decision = {
    outcome: { kind: 'picked', profile: 'p', endpoint: 'a' },
    profiles: [{ profile: 'p', filters: [] }],
    candidates: 1,
    leftOut: { ejected: 2, late: 0, full: 1200 },
  };
  expect(list.becauseOf(decision)).toBe('the only one left');
  expect(explained.headline(decision, (id) => id)).toBe('a: the others are ejected or full');
  expect(explained.outOf(decision)).toBe('1 endpoint; left out: 2 ejected, 1,200 full');
  const late = { ...decision, leftOut: { ejected: 0, late: 1, full: 0 } };
  expect(explained.headline(late, (id) => id)).toBe('a: the other is late with metrics');
});

it('[O534] the live page shows no term that would be 0 ms for both', () => {
  const scorer = { scorer: 's', weight: 1, terms: ['stepsMs', 'heldUpMs', 'paidMs'] };
  const endpoint = (name: string, terms: readonly number[]) => ({ endpoint: name, terms: [terms] });
  const profile = {
    scorers: [scorer],
    endpoints: [endpoint('a', [6, 0.004, 0]), endpoint('b', [6, 0, -0.2])],
    runnerUp: { endpoint: 'b' },
  };
  expect(page.termsOf(profile).map(({ name }) => name)).toEqual(['steps', 'credit for a new copy']);
});

it('[O527] the live page says which requests the scheduler of a shadow left to its profiles, and why', () => {
  const note = (replacement: object | undefined): string =>
    documents.undecidedNote({ name: 'a.yaml', parity: { replacement } });
  expect(note(undefined)).toBe('');
  expect(note({ name: 'a', undecided: 0, reasons: {} })).toBe('');
  const reasons = { deadline: 1, disconnected: 1208 };
  expect(note({ name: 'a', undecided: 1209, reasons, trouble: 'no answer' })).toBe(
    'The scheduler of a.yaml left 1,209 requests to its profiles, which are not compared (1,208 disconnected, 1 deadline). It is not connected: no answer.',
  );
});
