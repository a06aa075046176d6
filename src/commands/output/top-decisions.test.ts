import { expect, it } from 'vitest';
import type { LiveDecision } from '../../serve/live/live-message.ts';
import { decisionLines } from './top-decisions.ts';

const outcome = { kind: 'picked', profile: 'default', endpoint: 'pod-a', score: 1 } as const;
const ALONE: LiveDecision = {
  number: 0,
  id: 'f07d64285859-15',
  requestId: '',
  wallMs: 0,
  model: 'm',
  promptTokens: 9725,
  candidates: 1,
  outcome,
  profiles: [],
};

const lineOf = (decision: LiveDecision, columns = 120): string =>
  decisionLines([decision], (id) => id, columns).at(-1) ?? '';

it('[O492] top says of a trial of an ejected endpoint that it is one, and not that there was no other', () => {
  expect(lineOf(ALONE)).toMatch(/pod-a +there was no other$/);
  const trial = { ...ALONE, besideTrial: 3 };
  expect(lineOf(trial)).toMatch(/pod-a +the trial of an ejected endpoint$/);
  const promoted = { ...trial, outcome: { ...outcome, decidedBy: 'mine.yaml' } };
  expect(lineOf(promoted)).toMatch(/ the trial of an ejected endpoint, decided by mine\.yaml$/);
});

it('[O492] top leaves no column out for the words of a trial on 80 columns', () => {
  const name = 'ns/vllm-llama-70b-decode-7c9f8d6b5-xk2lq-rank-0';
  const held = { ms: 1234 };
  const trial = { ...ALONE, besideTrial: 3, held, outcome: { ...outcome, endpoint: name } };
  expect(lineOf(trial, 80)).toMatch(/ 9,725 +1\.2 s +….* the trial of an ejected endpoint$/);
});

it('[O525] top says that the others are ejected, late or full, and not that there was no other', () => {
  const of = (ejected: number, late: number, full: number): string =>
    lineOf({ ...ALONE, leftOut: { ejected, late, full } });
  expect(of(1, 0, 0)).toMatch(/pod-a +the other is ejected$/);
  expect(of(2, 0, 1)).toMatch(/pod-a +the others are ejected or full$/);
  expect(of(0, 1, 0)).toMatch(/pod-a +the other is late with metrics$/);
});

it('[O494] top says that filters left no other endpoint, where they dropped some', () => {
  const profile = { profile: 'default', scorers: [], endpoints: [], notKept: 0 };
  const of = (dropped: number): LiveDecision => ({
    ...ALONE,
    candidates: 3,
    profiles: [{ ...profile, filters: [{ filter: 'decode-filter', dropped }] }],
  });
  expect(lineOf(of(2))).toMatch(/ the filters left no other$/);
  expect(lineOf(of(0))).toMatch(/ there was no other$/);
});
