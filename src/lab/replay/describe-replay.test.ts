import { expect, it } from 'vitest';
import { describeReplay } from './describe-replay.ts';

it('[O502] marks thousands in each count of a live run', () => {
  const lines = describeReplay({
    planned: 40_000,
    due: 30_000,
    unfinished: 1234,
    refused: 2345,
    errors: [{ kind: 'status 503', count: 3456, first: 'no endpoint' }],
    underWayMax: 4096,
    late: { p50: 1, p99: 2, max: 12_345 },
    tokenGap: { p50: Number.NaN, p99: Number.NaN },
    tokens: { answers: 0, promptAsked: 0, promptCounted: 0, outputAsked: 0, outputCounted: 0 },
    cacheReported: false,
    durationMs: 60_000,
    stopped: true,
    servers: [],
  });
  const text = lines.join('\n');
  expect(text).toContain('30,000 of 40,000 requests were due');
  expect(text).toContain('1,234 answers were cut');
  expect(text).toContain('2,345 were not sent');
  expect(text).toContain('3,456 failed: status 503, first “no endpoint”.');
  expect(text).not.toMatch(/\d{4}/);
});
