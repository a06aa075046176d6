import { expect, it } from 'vitest';
import { replayFacts, simulationFacts } from './report-facts.ts';

function loadOf(requests: number, requestsPerSecond: number): string | undefined {
  const source = { trace: 't', pool: 'p', seeds: 1, spread: 0, speed: 1 };
  const run = { job: { name: 'a' }, summary: { requests }, throughput: { requestsPerSecond } };
  const facts = simulationFacts(source, [run] as never, []);
  return facts.find(([name]) => name === 'Load')?.[1];
}

it('[O336] the report says no rate of requests that come all at once, and thousands as such', () => {
  expect(loadOf(1, 1000)).toBe('1 request');
  expect(loadOf(918, 3.051)).toBe('918 requests, 3.05 requests/s');
  expect(loadOf(200_000, 2000)).toBe('200,000 requests, 2,000 requests/s');
});

it('[O519] the report of a replay says when an answer is good, too', () => {
  const facts = replayFacts({ trace: 't', speed: 1, closedLoop: false }, []);
  expect(facts).toContainEqual([
    'Good answer',
    'first token under 2,000 ms, then 100 ms per token',
  ]);
});
