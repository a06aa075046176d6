import { expect, it } from 'vitest';
import { makeRequest } from '../../../test/makers.ts';
import type { Routed } from '../../framework/observer.ts';
import { answerText, LatestAnswers } from './latest-answers.ts';

function routedTo(address: string, number: number): Routed {
  const request = makeRequest({ id: `r${number}` });
  return { number, request, endpoint: { address } } as unknown as Routed;
}

it('[O538] knows of the latest requests whether they are answered, by whom, and how they failed', () => {
  const answers = new LatestAnswers();
  const [a, b] = ['10.0.0.1:8000', '10.0.0.2:8000'];
  const routed = Array.from({ length: 6 }, (_, number) => routedTo(a, number));
  for (const each of routed) answers.onRouted(each);
  const [well, failed, cut, elsewhere, left, open] = routed as [
    Routed,
    Routed,
    Routed,
    Routed,
    Routed,
    Routed,
  ];
  answers.onServed(well, a);
  answers.onEnded(well, 1000, 'completed', 200);
  answers.onEnded(failed, 1000, 'failed', 503);
  answers.onEnded(cut, 1500, 'failed', 200);
  answers.onServed(elsewhere, b);
  answers.onEnded(elsewhere, 1000, 'failed');
  answers.onEnded(left, 1000, 'aborted', 200);
  const known = answers.byId();
  const textOf = ({ request: { id } }: Routed): string =>
    answerText(known.get(id) ?? { outcome: 'under-way' });
  expect(routed.map(textOf)).toEqual([
    '200',
    'failed: 503',
    'failed: broken',
    `failed: no answer by ${b}`,
    'ended early',
    'under way',
  ]);
  expect(Object.fromEntries(answers.byAddress(2000))).toEqual({
    [a]: {
      requests: 3,
      failed: { 503: 1, broken: 1 },
      refused: {},
      sentElsewhere: 1,
      lastFailedAt: 1500,
    },
    [b]: {
      requests: 1,
      failed: { 'no answer': 1 },
      refused: {},
      sentElsewhere: 0,
      lastFailedAt: 1000,
    },
  });
  expect(answers.byAddress(302_000).size).toBe(0);

  // Another request has taken the place of the one that is still open.
  answers.onRouted(routedTo(b, open.number + 4096));
  answers.onServed(open, b);
  answers.onEnded(open, 3000, 'failed', 500);
  expect(answers.byId().get(`r${open.number + 4096}`)).toEqual({ outcome: 'under-way' });
  expect(answers.byId().get('r5')).toBeUndefined();
});

it('[V624] counts by status how many requests each server has refused, which are no failures', () => {
  const answers = new LatestAnswers();
  for (const [number, status] of [429, 404, 429, 200, 500].entries()) {
    const routed = routedTo('a:1', number);
    answers.onRouted(routed);
    answers.onEnded(routed, 1000, status === 500 ? 'failed' : 'completed', status);
  }
  expect(answers.byAddress(2000).get('a:1')).toMatchObject({
    requests: 5,
    failed: { 500: 1 },
    refused: { 404: 1, 429: 2 },
  });
});
