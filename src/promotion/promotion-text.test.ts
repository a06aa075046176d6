import { expect, it } from 'vitest';
import type { PromotionStatus } from './promotion.ts';
import { promotionText } from './promotion-text.ts';

const arm = (requests: number) => ({
  requests,
  failed: 0,
  aborted: 0,
  undecided: {},
  latency: { count: requests, meanMs: requests === 0 ? 0 : 80, varianceMs2: 1, waitedMs: 0 },
});
const status = (changes: Partial<PromotionStatus>): PromotionStatus => ({
  shadow: 'mine.yaml',
  percent: 100,
  automatic: true,
  hasRule: true,
  conditions: [],
  outcomes: {
    challenger: arm(900),
    incumbent: arm(0),
    recent: {
      challenger: { requests: 900, failed: 3 },
      incumbent: { requests: 8000, failed: 1 },
      undecided: { requests: 0, failed: 0 },
    },
  },
  events: [],
  ...changes,
});
const text = (changes: Partial<PromotionStatus>) => promotionText(status(changes), String);

it('[O246] says that the last step is taken, and what is compared where nothing is left beside it', () => {
  expect(text({}).split('\n')).toEqual([
    'mine.yaml decides 100 % of the requests; the rule has taken its last step, and demotes it when its requests fail more often',
    '  shadow     900 requests, 0 failed, 80.0 ms to the first token',
    '  latest     3 of 900 failed; in charge before it 1 of 8,000 failed',
    '  to keep it, write its configuration into the file of --config: a promotion ends with the picker',
    '',
  ]);
});

it('[O384] says how to keep it where the last step is taken, and not before', () => {
  const keep = '  to keep it, ';
  const outcomes = { ...status({}).outcomes, incumbent: arm(40) };
  expect(text({ percent: 95, outcomes })).toContain('when its results get worse\n');
  expect(text({ percent: 95, outcomes })).toContain(keep);
  expect(text({ percent: 100, automatic: false })).toContain(keep);
  expect(text({ percent: 50, automatic: false })).not.toContain(keep);
  const waits = { name: 'requests', met: false, value: 1, needed: 2, text: '' } as const;
  expect(text({ percent: 50, conditions: [waits] })).not.toContain(keep);
});

it('[O503] says of each condition whether it is met, what there is, and what is needed', () => {
  const condition = (name: 'decisions' | 'requests', met: boolean, said: string) =>
    ({ name, met, value: 1, needed: 2, text: said }) as const;
  const conditions = [
    condition('decisions', true, '150 decisions, 30 needed'),
    condition('requests', false, '812 requests at 5 %, 2,000 needed before 25 %'),
  ];
  expect(text({ percent: 5, conditions }).split('\n').slice(1, 3)).toEqual([
    '  met        150 decisions, 30 needed',
    '  not yet    812 requests at 5 %, 2,000 needed before 25 %',
  ]);
});

it('[O387] says how much of the times requests waited at the picker', () => {
  const latency = { count: 40, meanMs: 900.04, varianceMs2: 1, waitedMs: 812.5 };
  const outcomes = { ...status({}).outcomes, incumbent: { ...arm(40), latency } };
  expect(text({ percent: 50, outcomes })).toContain(
    '  in charge  40 requests, 0 failed, 900.0 ms to the first token, 812.5 ms of it waiting here\n',
  );
});

it('[O388] says how many requests clients aborted before they had an answer', () => {
  const outcomes = { ...status({}).outcomes, challenger: { ...arm(40), aborted: 7 } };
  expect(text({ percent: 50, outcomes })).toContain(
    '  shadow     40 requests, 0 failed, 80.0 ms to the first token, 7 aborted before it\n',
  );
});

it('[G204] says how many requests a scheduler left to its profiles, and why', () => {
  const undecided = { disconnected: 2, deadline: 40 };
  const outcomes = { ...status({}).outcomes, challenger: { ...arm(90), undecided } };
  expect(text({ percent: 50, outcomes })).toContain(
    '  shadow     90 requests, 0 failed, 80.0 ms to the first token, left to its profiles: deadline 40, disconnected 2\n',
  );
});

it('[O246] [G215] says that a rule has ended, why, and that none was given', () => {
  const ended = { shadow: undefined, percent: 0, automatic: false };
  expect(text(ended)).toContain('; the rule has ended, until the picker starts again\n');
  const ruleEnded = 'the configuration in charge has changed';
  expect(text({ ...ended, ruleEnded })).toContain(
    '; the rule has ended (the configuration in charge has changed), until the picker starts again\n',
  );
  expect(text({ ...ended, hasRule: false })).toContain('; no rule was given\n');
});

it('[O246] compares with what is beside it while there is something', () => {
  const outcomes = { ...status({}).outcomes, incumbent: arm(40) };
  expect(text({ percent: 50, outcomes })).toContain('  in charge  40 requests, 0 failed, ');
  // A share that has just begun.
  expect(text({ percent: 5 })).toContain('  in charge  0 requests, 0 failed, none answered yet');
});

it('[O478] marks thousands in counts and times, and says one request as one', () => {
  const latency = { count: 12_345, meanMs: 3680.24, varianceMs2: 1, waitedMs: 0 };
  const outcomes = {
    ...status({}).outcomes,
    challenger: arm(1),
    incumbent: { ...arm(12_345), failed: 1234, latency },
  };
  expect(text({ percent: 20, outcomes })).toContain(
    '  shadow     1 request, 0 failed, 80.0 ms to the first token\n' +
      '  in charge  12,345 requests, 1,234 failed, 3,680.2 ms to the first token\n',
  );
});
