import { expect, it } from 'vitest';
import { makeEndpoint, makeRequest, makeRouted } from '../../test/makers.ts';
import type { Routed } from '../framework/observer.ts';
import { FairShares } from './fair-shares.ts';

let numbers = 0;
function sent(fairnessId: string, promptTokens = 1000): Routed {
  const request = makeRequest({ id: `r${numbers++}`, fairnessId, promptTokens });
  return makeRouted(makeEndpoint('e0'), { request });
}

it('[Q135] a flow is a fairness id, and without one an objective or a model', () => {
  const shares = new FairShares();
  const of = (about: Parameters<typeof makeRequest>[0]) => shares.of(makeRequest(about));
  const fairnessId = 'default-flow';
  expect(of({ fairnessId: 'a', model: 'm' })).toBe(of({ fairnessId: 'a', model: 'n' }));
  expect(of({ fairnessId, model: 'm' })).not.toBe(of({ fairnessId, model: 'n' }));
  expect(of({ fairnessId, objective: 'chat' })).not.toBe(of({ fairnessId, objective: 'batch' }));
});

it('[Q136] a flow is ahead while one with requests has got less, whatever waited', () => {
  const shares = new FairShares();
  const [big, small] = [sent('big', 5000), sent('small', 10)];
  shares.onRouted(big);
  const isAhead = (): boolean => shares.isAhead(shares.of(big.request));
  expect(isAhead()).toBe(false);
  shares.onRouted(small);
  expect([isAhead(), shares.isAhead(shares.of(small.request))]).toEqual([true, false]);
  shares.onDone(small, 1, 'completed', undefined);
  expect(isAhead()).toBe(false);
});

it('[Q136] a flow that has got more is ahead of the one that has least then', () => {
  const shares = new FairShares();
  const [first, second] = [sent('first', 10), sent('second', 20)];
  shares.onRouted(first);
  shares.onRouted(second);
  const isAhead = ({ request }: Routed): boolean => shares.isAhead(shares.of(request));
  expect([first, second].map(isAhead)).toEqual([false, true]);
  shares.onRouted(sent('first', 5000));
  expect([first, second].map(isAhead)).toEqual([true, false]);
});

it('[Q136] a flow that comes back has saved up eight of its requests at most', () => {
  const shares = new FairShares();
  const early = sent('early');
  shares.onRouted(early);
  shares.onDone(early, 1, 'completed', undefined);
  const cost = shares.of(early.request).served;
  for (let n = 0; n < 100; n++) shares.onRouted(sent('busy'));
  const busy = shares.of(sent('busy').request).served;
  shares.waits(shares.of(early.request), early.request);
  expect(shares.of(early.request).served).toBeCloseTo(busy - 9 * cost, 0);
});

it('[Q136] a flow that waits keeps all that it is owed, however much others get meanwhile', () => {
  const shares = new FairShares();
  const [first, next] = [sent('patient').request, sent('patient').request];
  const patient = shares.of(first);
  shares.waits(patient, first);
  const { served } = patient;
  for (let n = 0; n < 100; n++) shares.onRouted(sent('busy'));
  shares.waits(patient, next);
  expect(patient.served).toBe(served);
});

it('[Q150] a flow is crowded out beside one that waits, has got more and has much pending', () => {
  const shares = new FairShares();
  const [loud, quiet] = [sent('loud', 5000), sent('quiet', 100)];
  const [most, least] = [shares.of(loud.request), shares.of(quiet.request)];
  const isCrowdedOut = (tokens = 4000): boolean => shares.isCrowdedOut(least, 0, () => tokens);
  shares.onRouted(loud);
  shares.onRouted(quiet);
  // Nothing of the other flow waits.
  expect(isCrowdedOut()).toBe(false);
  shares.waits(most, loud.request);
  expect([isCrowdedOut(), shares.isCrowdedOut(most, 0, () => 4000)]).toEqual([true, false]);
  // The other has too little pending, or this one has as much.
  expect([isCrowdedOut(10_000), isCrowdedOut(50)]).toEqual([false, false]);
  shares.leaves(most, loud.request);
  expect(isCrowdedOut()).toBe(false);
});

it('[Q150] the request that is decided does not count as pending of its flow', () => {
  const shares = new FairShares();
  const [loud, quiet] = [sent('loud', 9000), sent('quiet', 5000)];
  shares.onRouted(loud);
  shares.waits(shares.of(loud.request), loud.request);
  const share = shares.of(quiet.request);
  share.served = 0;
  shares.waits(share, quiet.request);
  const isCrowdedOut = (ownTokens: number): boolean =>
    shares.isCrowdedOut(share, ownTokens, () => 4000);
  expect([isCrowdedOut(0), isCrowdedOut(5000)]).toEqual([false, true]);
});

it('[Q136] prompts of a flow are pending until their first tokens or ends', () => {
  const shares = new FairShares();
  const [first, second] = [sent('a'), sent('a')];
  const share = shares.of(first.request);
  shares.waits(share, first.request);
  shares.waits(share, second.request);
  expect(share.pendingTokens).toBe(2000);
  shares.leaves(share, first.request);
  shares.leaves(share, second.request);
  shares.onRouted(first);
  shares.onRouted(second);
  expect(share.pendingTokens).toBe(2000);
  shares.onFirstToken(first);
  shares.onDone(first, 1, 'completed', undefined);
  shares.onDone(second, 1, 'failed', undefined);
  expect(share).toMatchObject({ pendingTokens: 0, waiting: 0, inFlight: 0 });
});

it('[Q136] flows without requests are forgotten, also where each has a name of its own', () => {
  const shares = new FairShares();
  const first = shares.of(sent('f0').request);
  for (let n = 0; n < 3000; n++) {
    const routed = sent(`f${n}`);
    shares.onRouted(routed);
    shares.onDone(routed, 1, 'completed', undefined);
  }
  expect(shares.of(sent('f0').request)).not.toBe(first);
});

it('[Q312] a request costs what the answers of its flow have been long, and has no share in the order once it has left', () => {
  const shares = new FairShares();
  const answered = (fairnessId: string, completionTokens: number): void => {
    for (let n = 0; n < 60; n++) {
      const routed = sent(fairnessId, 10);
      shares.onRouted(routed);
      shares.onDone(routed, 1, 'completed', {
        promptTokens: 10,
        cachedTokens: 0,
        completionTokens,
      });
    }
  };
  answered('long', 2000);
  answered('short', 10);
  const cost = (fairnessId: string): number => {
    const routed = sent(fairnessId, 10);
    const before = shares.of(routed.request).served;
    shares.onRouted(routed);
    return shares.of(routed.request).served - before;
  };
  expect(cost('long')).toBeGreaterThan(3800);
  expect(cost('short')).toBeLessThan(60);
  const waits = sent('waits', 10).request;
  const share = shares.of(waits);
  share.served = 0;
  shares.waits(share, waits);
  expect(shares.someWait).toBe(true);
  shares.leaves(share, waits);
  const short = shares.of(sent('short').request);
  expect([shares.someWait, shares.isAhead(short)]).toEqual([false, false]);
});
