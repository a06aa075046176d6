import { expect, test } from 'vitest';
import { ControlledBench, DETECTOR, PLAN } from '../../../test/support/controlled-bench.ts';

/** With I/O workers a stream that may go on asks for its pick later. */

const inThreads = true;

function goOn({ asking }: ControlledBench): void {
  for (const route of asking.splice(0)) route();
}

test('[D468] what was let through counts until its stream in another thread asks for the pick', () => {
  const bench = new ControlledBench({ inThreads });
  const first = bench.send('first');
  goOn(bench);
  bench.send('low');
  bench.send('high', { priority: 10 });
  bench.end(first);
  // One may go on: the endpoint takes one request at a time.
  expect(bench.asking).toHaveLength(1);
  bench.clock.advanceTo(bench.clock.now() + 50);
  expect(bench.asking).toHaveLength(1);
  goOn(bench);
  expect(bench.routed).toEqual(['first', 'high']);
});

test.each([
  ['backlog-detector', { maxPendingTokens: 512, maxConcurrency: 256 }],
  ['concurrency-detector', { ...DETECTOR, concurrencyMode: 'tokens', maxTokenConcurrency: 512 }],
])('[Q284] the prompts of requests that were let through count, too, with %s', (type, config) => {
  const plan = { ...PLAN, detector: { ...PLAN.detector, type, config } };
  const bench = new ControlledBench({ inThreads, plan });
  const [first] = ['a', 'b', 'c'].map((id) => bench.send(id, { promptTokens: 600 }));
  expect(bench.asking).toHaveLength(1);
  if (first !== undefined) bench.router.abandon(first);
  bench.clock.advanceTo(bench.clock.now() + 50);
  expect(bench.asking).toHaveLength(2);
});

test('[D468] a stream in another thread gets the error of a request that waited too long', () => {
  const bench = new ControlledBench({ inThreads });
  bench.send('first');
  goOn(bench);
  bench.send('late');
  bench.clock.advanceTo(bench.clock.now() + 1020);
  goOn(bench);
  expect([bench.routed, bench.refused]).toEqual([['first'], ['late queue-timeout']]);
});

test('[D468] a stream that ends before it asks leaves nothing behind', () => {
  const bench = new ControlledBench({ inThreads });
  const first = bench.send('first');
  goOn(bench);
  const gone = bench.send('gone');
  bench.send('next');
  bench.end(first);
  bench.router.abandon(gone);
  bench.asking.shift();
  bench.clock.advanceTo(bench.clock.now() + 20);
  goOn(bench);
  expect(bench.routed).toEqual(['first', 'next']);
});
