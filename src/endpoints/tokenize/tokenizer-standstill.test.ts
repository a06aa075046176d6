import { expect, it } from 'vitest';
import { UnsteadyClock } from '../../../test/support/unsteady-clock.ts';
import type { HttpResponse } from '../../framework/runtime.ts';
import type { NoTokensReason } from '../../openai/read-prompt.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { RemoteTokenizer } from './remote-tokenizer.ts';

function asked() {
  const clock = new UnsteadyClock(seededRandom(1));
  clock.pace = 'still';
  const { promise, resolve } = Promise.withResolvers<HttpResponse>();
  const failures: string[] = [];
  const tokenizer = new RemoteTokenizer({
    runtime: {
      clock,
      random: seededRandom(1),
      network: { get: () => Promise.reject(new Error('not asked')), post: () => promise },
    },
    address: () => new URL('http://a:1/tokenize'),
    deadlineMs: () => 100,
    onFailed: (_url, reason) => void failures.push(reason),
    cacheBytesMax: 10_000,
  });
  const given: (Uint32Array | NoTokensReason)[] = [];
  tokenizer.tokens({ form: 'completion', fields: { prompt: 'a' } }, (each) => given.push(each));
  const answer = async (): Promise<void> => {
    resolve({ status: 200, body: new TextEncoder().encode('{"tokens":[5,6]}') });
    await clock.runFor(0);
  };
  clock.pass(30_000);
  clock.advanceBy(0);
  return { clock, given, failures, answer };
}

it('[V585] tokens that came while the process stood still are in time, and their host is not late', async () => {
  const { clock, given, failures, answer } = asked();
  expect(given).toEqual([]);
  await answer();
  clock.advanceBy(1000);
  expect([given, failures, clock.pending]).toEqual([[Uint32Array.of(5, 6)], [], 0]);
});

it('[V585] a request whose tokens did not come meanwhile waits for the rest of its time', () => {
  const { clock, given, failures } = asked();
  clock.advanceBy(89);
  expect(given).toEqual([]);
  clock.advanceBy(2);
  expect([given, failures]).toEqual([['deadline'], ['it did not answer within 100 ms']]);
});
