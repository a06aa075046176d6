import { expect, it } from 'vitest';
import { makePool, makeRequest } from '../../../test/makers.ts';
import { decodeStepMs, PRIOR_STEP_TIME } from '../../cost-model/step-time.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import type { Routed } from '../../framework/observer.ts';
import { EngineModel } from '../engine-model/engine-model.ts';
import { AdapterSlots } from './adapter-slots.ts';
import { ConcurrencyLimit } from './concurrency-limit.ts';
import { EndpointBacklog } from './endpoint-backlog.ts';
import { Ledger } from './ledger.ts';

const TOKENS = 10_000;
const ALL_MS = PRIOR_STEP_TIME.perPrefillTokenMs * TOKENS;

interface World {
  readonly endpoint: Endpoint;
  /** The server that computes prompts in `[Q1]`. */
  readonly prefill: Endpoint;
  readonly ledger: Ledger;
  readonly limit: ConcurrencyLimit;
  readonly backlog: EndpointBacklog;
}

function makeWorld(): World {
  const [endpoint, prefill] = makePool([{}, {}]) as [Endpoint, Endpoint];
  const ledger = new Ledger();
  for (const each of [endpoint, prefill]) ledger.onEndpointAdded(each);
  const engineModel = new EngineModel();
  const limit = new ConcurrencyLimit(ledger);
  const slots = new AdapterSlots(ledger);
  const backlog = new EndpointBacklog({ ledger, engineModel, limit, slots });
  return { endpoint, prefill, ledger, limit, backlog };
}

/** Sends a prompt of `TOKENS` there, at 0. */
function send({ endpoint, ledger, backlog }: World): void {
  const request = makeRequest({ promptTokens: TOKENS });
  backlog.routed({ endpoint, request, at: 0, cachedTokens: 0 } as Routed);
  ledger.reserve(endpoint, { model: 'm', prefillTokens: TOKENS, contextTokens: TOKENS });
}

it('[Q244] expects what is overdue to take as long again', () => {
  const world = makeWorld();
  const { endpoint, backlog } = world;
  expect(backlog.computedMs(endpoint, 0)).toBe(0);
  send(world);
  const shares = [0, 0.5, 1, 1.5, 2.1, 50].map(
    (part) => backlog.computedMs(endpoint, part * ALL_MS) / ALL_MS,
  );
  // The step's own time lets all of it end a little later.
  const expected = [0, 0.5, 1, 0.5, 0, 0];
  shares.forEach((share, n) => expect(share).toBeCloseTo(expected[n] as number, 1));
});

it('[Q244] expects the most of a prompt when it is due, a step of running answers after its own time', () => {
  const world = makeWorld();
  const answer = { model: 'm', prefillTokens: 0, contextTokens: 100_000 };
  for (let n = 0; n < 10; n++) world.ledger.reserve(world.endpoint, answer);
  const dueMs = ALL_MS + decodeStepMs(10, 10 * answer.contextTokens);
  send(world);
  expect(world.backlog.computedMs(world.endpoint, dueMs)).toBeCloseTo(ALL_MS, 6);
});

it('[Q1] begins a prompt elsewhere while two steps wait there, or should have been computed', () => {
  const { endpoint, prefill, ledger, backlog } = makeWorld();
  const places = { endpoint, prefill, adapter: undefined };
  const { prefillTokensMax, perPrefillTokenMs } = PRIOR_STEP_TIME;
  // What runs where it is decoded does not count.
  ledger.reserve(endpoint, { model: 'm', prefillTokens: 100_000, contextTokens: 100_000 });
  const sendThere = (promptTokens: number): void => {
    const request = makeRequest({ promptTokens });
    backlog.routed({ endpoint, prefill, request, at: 0, cachedTokens: 0 } as Routed);
    ledger.reserve(prefill, { model: 'm', prefillTokens: promptTokens, contextTokens: 0 });
  };
  sendThere(2 * prefillTokensMax - 1);
  expect([false, true].map((room) => backlog.isOpenFor(places, 0, room))).toEqual([true, false]);
  sendThere(8 * prefillTokensMax);
  expect(backlog.isOpenFor(places, 0)).toBe(false);
  const sentMs = 10 * prefillTokensMax * perPrefillTokenMs;
  expect(backlog.isOpenFor(places, 0.7 * sentMs)).toBe(false);
  expect(backlog.isOpenFor(places, 0.95 * sentMs)).toBe(true);
});

it('[Q1] begins no prompt elsewhere where one of both servers has as many as it may', () => {
  const { endpoint, prefill, ledger, limit, backlog } = makeWorld();
  const isOpen = (decode: Endpoint, computes: Endpoint): boolean =>
    backlog.isOpenFor({ endpoint: decode, prefill: computes, adapter: undefined }, 0);
  limit.configure({ maxConcurrency: 1 });
  expect(isOpen(endpoint, prefill)).toBe(true);
  ledger.reserve(endpoint, { model: 'm', prefillTokens: 0, contextTokens: 0 });
  expect([isOpen(endpoint, prefill), isOpen(prefill, endpoint)]).toEqual([false, false]);
});
