import { execFile } from 'node:child_process';
import type { LookupAddress } from 'node:dns';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { SharedLookups } from './shared-lookups.ts';

/** Lookups whose answers come when the test says so. */
function setUp() {
  let now = 0;
  const asked: string[] = [];
  const open = new Map<string, PromiseWithResolvers<LookupAddress[]>>();
  const lookups = new SharedLookups({
    now: () => now,
    lookUp: (name) => {
      asked.push(name);
      const answer = Promise.withResolvers<LookupAddress[]>();
      open.set(name, answer);
      return answer.promise;
    },
  });
  const outcomes: string[] = [];
  return {
    asked,
    outcomes,
    ask: (name: string, family = 0) =>
      void lookups.lookUp(name, { all: true, family }).then(
        (found) => outcomes.push(`${name} ${(found as LookupAddress[])[0]?.address}`),
        (error: Error) => outcomes.push(`${name} ${error.message}`),
      ),
    answer: async (name: string, address?: string) => {
      if (address === undefined) open.get(name)?.reject(new Error('EAI_AGAIN'));
      else open.get(name)?.resolve([{ address, family: 4 }]);
      for (let turn = 0; turn < 10; turn++) await Promise.resolve();
    },
    pass: (ms: number) => void (now += ms),
  };
}

it('[V477] a name is looked up once at a time, and again after the answer', async () => {
  const { ask, answer, asked, outcomes } = setUp();
  for (let n = 0; n < 3; n++) ask('a');
  expect(asked).toEqual(['a']);
  await answer('a', '10.0.0.1');
  expect(outcomes).toEqual(Array.from({ length: 3 }, () => 'a 10.0.0.1'));
  ask('a');
  ask('a', 4);
  expect(asked).toEqual(['a', 'a', 'a']);
});

it('[V477] names of which DNS says nothing take turns, and delay no other name', async () => {
  const { ask, answer, asked, pass, outcomes } = setUp();
  const silent = ['x', 'y', 'z'];
  for (const name of silent) ask(name);
  pass(10_000);
  for (const name of silent) await answer(name);
  asked.length = 0;
  for (const name of silent) ask(name);
  await answer('none');
  ask('good');
  expect(asked).toEqual(['x', 'good']);
  pass(10_000);
  await answer('x');
  expect(asked).toEqual(['x', 'good', 'y']);
  // It answers again: from now on it waits for no other.
  await answer('y', '10.0.0.2');
  ask('y');
  expect(asked).toEqual(['x', 'good', 'y', 'z', 'y']);
  expect(outcomes.at(-1)).toBe('y 10.0.0.2');
});

it('[V477] a name that is answered late, or is said not to exist, is not silent', async () => {
  const { ask, answer, asked, pass } = setUp();
  for (const name of ['late', 'nosuch', 'x']) ask(name);
  await answer('nosuch');
  pass(10_000);
  await answer('late', '10.0.0.1');
  await answer('x');
  asked.length = 0;
  for (const name of ['x', 'late', 'nosuch']) ask(name);
  expect(asked).toEqual(['late', 'nosuch']);
  await answer('none');
  expect(asked).toEqual(['late', 'nosuch', 'x']);
});

it('[V477] a thousand wait for one lookup, and the next ones fail at once', async () => {
  const { ask, answer, outcomes } = setUp();
  for (let n = 0; n < 1010; n++) ask('a');
  await answer('none');
  expect(outcomes).toHaveLength(10);
  expect(outcomes[0]).toBe('a getaddrinfo EAI_AGAIN a: 1000 others wait for its lookup');
});

it('[V477] what Node and its clients call looks names up so', async () => {
  const program = `
    import dns, { lookup } from 'node:dns';
    import { lookup as promised } from 'node:dns/promises';
    import { promisify } from 'node:util';
    import { shareLookups } from ${JSON.stringify(join(import.meta.dirname, 'shared-lookups.ts'))};
    const before = [dns.lookup, dns.promises.lookup];
    shareLookups();
    const said = [lookup !== before[0], promised !== before[1]];
    const called = (...of) => new Promise((done) => lookup(...of, (...all) => done(all)));
    said.push(await called('127.0.0.1'), await called('localhost', 4), await called('localhost', { all: true, family: 4 }));
    said.push(await promised('localhost', { family: 4 }), await promisify(dns.lookup)('localhost', 4));
    // Longer than a name can be: no DNS server is asked.
    const long = 'x'.repeat(300);
    said.push((await called(long))[0].syscall, await promised(long).catch(({ syscall }) => syscall));
    try { lookup('a', 'b'); } catch ({ code }) { said.push(code); }
    console.log(JSON.stringify(said));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', program]);
  const found = { address: '127.0.0.1', family: 4 };
  expect(JSON.parse(stdout)).toEqual([
    true,
    true,
    [null, '127.0.0.1', 4],
    [null, '127.0.0.1', 4],
    [null, [found]],
    found,
    found,
    'getaddrinfo',
    'getaddrinfo',
    'ERR_INVALID_ARG_TYPE',
  ]);
});
