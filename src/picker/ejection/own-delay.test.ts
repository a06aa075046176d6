import { expect, it } from 'vitest';
import { makeEndpoint, makeRouted } from '../../../test/makers.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import { DEFAULT_EJECTION } from './ejection-plan.ts';
import { Ejector } from './ejector.ts';

/** Two endpoints, of which the first has given enough first tokens for predictions to count. */
function start(silenceMs = 0) {
  const endpoints = [makeEndpoint('a', { slot: 0 }), makeEndpoint('b', { slot: 1 })];
  const [a, b] = endpoints as [Endpoint, Endpoint];
  const pool = {
    get: (id: string) => endpoints.find((each) => each.id === id),
    snapshot: () => endpoints,
  };
  const ejector = new Ejector({ pool });
  ejector.configure({ ...DEFAULT_EJECTION, silenceMs });
  let number = 0;
  /** Sends a request, which `b` does not answer. */
  const send = (endpoint: Endpoint, at: number): void => {
    const routed = makeRouted(endpoint, { number: number++, at });
    ejector.routed(routed, 50);
    if (endpoint === a) ejector.firstToken(routed, a, at + 50);
  };
  const sampled = ({ slot }: Endpoint, sampledAt: number): void => {
    const id = endpoints[slot]?.id ?? '';
    endpoints[slot] = makeEndpoint(id, { slot, sampledAt });
  };
  for (let at = 0; at < 3000; at += 100) send(a, at);
  const admitted = (at: number): readonly Endpoint[] => {
    const trial = ejector.offerTrial(endpoints, at);
    return trial === undefined ? ejector.remaining(endpoints) : [trial];
  };
  return { ejector, a, b, endpoints, send, sampled, admitted };
}

it('[V375] is not blamed for what this process has not read yet because it stood still', () => {
  const { ejector, a, b, endpoints, send, admitted } = start();
  const waiting = makeRouted(b, { number: 1000, at: 3000 });
  ejector.routed(waiting, 50);
  send(a, 3010);
  // A timer that was due is the first thing after the standstill.
  expect(admitted(9000)).toEqual(endpoints);
  send(a, 9000);
  expect(admitted(9200)).toEqual(endpoints);
  ejector.firstToken(waiting, b, 9300);
  for (let at = 9300; at < 12_000; at += 100) {
    send(a, at);
    expect(admitted(at + 50)).toEqual(endpoints);
  }
});

it('[V375] is ejected where it still owes the first token when all has been read', () => {
  const { ejector, a, b, endpoints, send, admitted } = start();
  ejector.routed(makeRouted(b, { number: 1000, at: 3000 }), 50);
  send(a, 3010);
  expect(admitted(9000)).toEqual(endpoints);
  for (let at = 9000; at < 9600; at += 100) send(a, at);
  expect(admitted(9650)).toEqual([a]);
});

it('[V375] is ejected where requests are few', () => {
  const { a, b, send, admitted } = start();
  send(b, 5000);
  send(a, 10_000);
  expect(admitted(15_000)).toEqual([a]);
});

it('[Q276] is not blamed where the answers of another are read first', () => {
  const { ejector, a, b, endpoints, admitted } = start();
  const toA = makeRouted(a, { number: 1000, at: 3000 });
  const toB = makeRouted(b, { number: 1001, at: 3000 });
  ejector.routed(toA, 50);
  ejector.routed(toB, 50);
  ejector.firstToken(toA, a, 9000);
  expect(admitted(9001)).toEqual(endpoints);
  ejector.firstToken(toB, b, 9002);
  expect(admitted(9700)).toEqual(endpoints);
});

it('[Q276] is not blamed where the client of another has given up meanwhile, and is read first', () => {
  const { ejector, a, b, endpoints, admitted } = start();
  const toA = makeRouted(a, { number: 1000, at: 3000 });
  ejector.routed(toA, 50);
  ejector.routed(makeRouted(b, { number: 1001, at: 3000 }), 50);
  ejector.done(toA, a, { at: 9000, outcome: 'aborted' });
  expect(admitted(9001)).toEqual(endpoints);
});

it('[Q276] is blamed where its own client has given up: the gateway had got nothing to send before', () => {
  const { ejector, a, b, send, admitted } = start();
  const toB = makeRouted(b, { number: 1000, at: 3000 });
  ejector.routed(toB, 50);
  send(a, 3010);
  ejector.done(toB, b, { at: 6000, outcome: 'aborted' });
  expect(admitted(6001)).toEqual([a]);
});

it('[Q276] is not blamed before the answers to newer requests are read', () => {
  const { ejector, a, b, endpoints, send, admitted } = start();
  const toA = makeRouted(a, { number: 1000, at: 3000 });
  ejector.routed(toA, 50);
  ejector.routed(makeRouted(b, { number: 1001, at: 3000 }), 50);
  ejector.firstToken(toA, a, 9000);
  // This process is slow: in a second it reads nothing that was sent since.
  expect(admitted(9900)).toEqual(endpoints);
  send(a, 9910);
  expect(admitted(10_050)).toEqual([a]);
});

it('[Q276] is not silent while answers to scrapes wait to be read', () => {
  const { ejector, a, b, endpoints, sampled, admitted } = start(500);
  for (const each of [a, b]) sampled(each, 2990);
  const toA = makeRouted(a, { number: 1000, at: 3000 });
  const toB = makeRouted(b, { number: 1001, at: 3000 });
  ejector.routed(toA, 50);
  ejector.routed(toB, 50);
  expect(admitted(3001)).toEqual(endpoints);
  sampled(a, 9000);
  ejector.firstToken(toA, a, 9000);
  admitted(9001);
  expect(ejector.counts.size).toBe(0);
});

it('[Q277] is not blamed where first tokens of others come as late', () => {
  const { ejector, a, b, endpoints, admitted } = start();
  const toA = (number: number) => makeRouted(a, { number, at: 100 * number });
  const waiting = new Map<number, ReturnType<typeof makeRouted>>();
  ejector.routed(makeRouted(b, { number: 1000, at: 4900 }), 50);
  const outAt: number[] = [];
  for (let number = 30; number < 100; number += 1) {
    const routed = toA(number);
    waiting.set(number, routed);
    ejector.routed(routed, 50);
    const answered = waiting.get(number - 20);
    // It was sent two seconds ago.
    if (answered !== undefined) ejector.firstToken(answered, a, routed.at + 1);
    if (admitted(routed.at + 2).length < endpoints.length) outAt.push(routed.at);
  }
  // After 3,900 ms, which is twice as late as those of the other.
  expect(outAt[0]).toBe(8800);
});

it('[V467] is not blamed where no answer is read to a request that was sent as much later as is allowed', () => {
  const { ejector, a, b, endpoints, admitted } = start();
  const toB = makeRouted(b, { number: 1000, at: 3000 });
  const toA = [3000, 3100, 3200, 4600].map((at, n) => makeRouted(a, { number: 1001 + n, at }));
  ejector.routed(toB, 50);
  for (const routed of toA.slice(0, 3)) ejector.routed(routed, 50);
  // This process is slow: it reads the answers of a while at once.
  for (const routed of toA.slice(0, 3)) ejector.firstToken(routed, a, 3700);
  for (const at of [4550, 4600, 5000]) expect(admitted(at)).toEqual(endpoints);
  const [last] = toA.slice(3);
  if (last === undefined) throw new Error('there are four');
  ejector.routed(last, 50);
  ejector.firstToken(last, a, 5050);
  expect(admitted(5101)).toEqual([a]);
});

it('[V468] is not silent before others have answered three more scrapes', () => {
  const { ejector, a, b, endpoints, sampled, admitted } = start(500);
  for (const at of [2900, 2950, 3000]) {
    for (const each of [a, b]) sampled(each, at);
    admitted(at);
  }
  ejector.routed(makeRouted(b, { number: 1000, at: 3000 }), 50);
  const toA = makeRouted(a, { number: 1001, at: 3000 });
  ejector.routed(toA, 50);
  admitted(3500);
  ejector.firstToken(toA, a, 4400);
  // It reads what has come of `a` first; what has come of `b` still waits.
  for (const at of [4400, 4450]) {
    sampled(a, at);
    admitted(at + 1);
  }
  expect(ejector.counts.size).toBe(0);
  expect(endpoints).toHaveLength(2);
  sampled(a, 4500);
  admitted(4501);
  expect([...ejector.counts]).toEqual([['silent', 1]]);
});
