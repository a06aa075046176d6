import { expect, it } from 'vitest';
import { makeEndpoint, makeRouted } from '../../../test/makers.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import { DEFAULT_EJECTION } from './ejection-plan.ts';
import { Ejector } from './ejector.ts';

/** Two endpoints, of which the first has given enough first tokens for predictions to count. */
function start() {
  const endpoints = [makeEndpoint('a', { slot: 0 }), makeEndpoint('b', { slot: 1 })];
  const [a, b] = endpoints as [Endpoint, Endpoint];
  const pool = {
    get: (id: string) => endpoints.find((each) => each.id === id),
    snapshot: () => endpoints,
  };
  const ejector = new Ejector({ pool });
  ejector.configure({ ...DEFAULT_EJECTION, silenceMs: 0 });
  let number = 0;
  /** Sends a request, which `b` does not answer. */
  const send = (endpoint: Endpoint, at: number): void => {
    const routed = makeRouted(endpoint, { number: number++, at });
    ejector.routed(routed, 50);
    if (endpoint === a) ejector.firstToken(routed, a, at + 50);
  };
  for (let at = 0; at < 3000; at += 100) send(a, at);
  const admitted = (at: number): readonly Endpoint[] => {
    const trial = ejector.offerTrial(endpoints, at);
    return trial === undefined ? ejector.remaining(endpoints) : [trial];
  };
  return { ejector, a, b, endpoints, send, admitted };
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
