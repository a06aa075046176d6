import { expect, it } from 'vitest';
import { checkAnswersRefused } from './check-answers-refused.ts';
import type { EndpointRequests } from './check-requests.ts';

const at = (
  address: string,
  requests: number,
  refused?: Readonly<Record<string, number>>,
): EndpointRequests => ({
  address,
  latest: { requests, failed: {}, ...(refused && { refused }), sentElsewhere: 0 },
});

it('[V624] doctor names servers that refuse far more requests than others, and that are not ejected for it', () => {
  const [finding, ...others] = checkAnswersRefused([
    at('a:1', 100, { 400: 2 }),
    at('b:1', 120, { 429: 90, 404: 30 }),
    at('c:1', 100, { 400: 3 }),
  ]);
  expect(others).toEqual([]);
  expect(finding).toMatchObject({
    severity: 'warning',
    id: 'servers-refuse',
    where: '1 of 3 endpoints',
    what: 'of the requests that ended in the last five minutes, at most the last 4,096, model servers refused 125 of 320 (39 %): b:1 120 of 120 (100 %) (90 × status 429, 30 × status 404).',
    mend: expect.stringMatching(/^Others refuse fewer, .* not ejected .* take them out/),
  });
});

it('[V624] doctor says of servers that refuse alike to look at clients, and nothing of few refusals', () => {
  const pool = (refused: number) =>
    [1, 2, 3, 4, 5].map((name) => at(`${name}:1`, 100, { 401: refused }));
  expect(checkAnswersRefused(pool(60))).toMatchObject([
    {
      where: '5 of 5 endpoints',
      what: expect.stringMatching(/ 300 of 500 \(60 %\): .* and 2 more\.$/),
      mend: expect.stringMatching(/^All refuse alike/),
    },
  ]);
  expect(checkAnswersRefused(pool(19))).toEqual([]);
  expect(checkAnswersRefused([at('a:1', 9, { 404: 9 }), at('b:1', 500)])).toEqual([]);
  expect(checkAnswersRefused([at('a:1', 100), { address: 'b:1' }])).toEqual([]);
  expect(checkAnswersRefused([])).toEqual([]);
});
