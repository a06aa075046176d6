import { describe, expect, it } from 'vitest';
import { type EndpointFields, makePool, makeRequest } from '../../../test/makers.ts';
import { decodeStepMs, PRIOR_STEP_TIME } from '../../cost-model/step-time.ts';
import type { AttributeKey, Endpoint } from '../../framework/endpoint.ts';
import { ENGINE_COUNT } from '../../framework/endpoint-attributes.ts';
import type { Routed } from '../../framework/observer.ts';
import { EngineModel } from '../engine-model/engine-model.ts';
import { Ledger } from '../load/ledger.ts';
import { AdapterSlots } from './adapter-slots.ts';
import { ConcurrencyLimit } from './concurrency-limit.ts';
import { EndpointBacklog } from './endpoint-backlog.ts';

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

function makeWorld(fields: readonly EndpointFields[] = [{}, {}]): World {
  const [endpoint, prefill] = makePool(fields) as [Endpoint, Endpoint];
  const ledger = new Ledger();
  for (const each of [endpoint, prefill]) ledger.onEndpointAdded(each);
  const engineModel = new EngineModel();
  const limit = new ConcurrencyLimit(ledger);
  const slots = new AdapterSlots(ledger, engineModel.adapters);
  const backlog = new EndpointBacklog({ ledger, engineModel, limit, slots });
  for (const each of [endpoint, prefill]) backlog.onEndpointAdded(each);
  return { endpoint, prefill, ledger, limit, backlog };
}

/** Sends a prompt there, at 0. */
function send({ endpoint, ledger, backlog }: World, tokens = TOKENS): void {
  const request = makeRequest({ promptTokens: tokens });
  backlog.routed({ endpoint, request, at: 0, cachedTokens: 0 } as Routed);
  ledger.reserve(endpoint, { model: 'm', prefillTokens: tokens, contextTokens: tokens });
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
  expect([undefined, 1].map((below) => backlog.isOpenFor(places, 0, below))).toEqual([true, false]);
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

describe('several engines at one address', () => {
  function sent(engines: number, prompts: number, tokens: number): World {
    const world = makeWorld([
      { sampledAt: 0, attributes: [[ENGINE_COUNT as AttributeKey<never>, engines]] },
      {},
    ]);
    for (let n = 0; n < prompts; n++) send(world, tokens);
    return world;
  }
  const isOpenAfter = (engines: number, prompts: number, tokens: number): boolean => {
    const { backlog, endpoint } = sent(engines, prompts, tokens);
    return backlog.isOpen(endpoint, 1);
  };

  it('[Q316] are open to two steps of short prompts each', () => {
    const { prefillTokensMax } = PRIOR_STEP_TIME;
    for (const engines of [1, 2, 8]) {
      const steps = (2 * engines * prefillTokensMax) / 512;
      expect(isOpenAfter(engines, steps - 1, 512)).toBe(true);
      expect(isOpenAfter(engines, steps, 512)).toBe(false);
    }
  });

  it.each([
    [1, 1],
    [2, 3],
    [8, 22],
  ])('[Q316] %i of them are open until each has a long prompt, in the mean', (engines, prompts) => {
    expect(isOpenAfter(engines, prompts - 1, 100_000)).toBe(true);
    expect(isOpenAfter(engines, prompts, 100_000)).toBe(false);
  });

  it('[Q316] are not overdue before one engine has had the time for the last prompt', () => {
    const oneMs = PRIOR_STEP_TIME.perPrefillTokenMs * 1_000_000;
    const { endpoint, backlog } = sent(2, 3, 1_000_000);
    expect(backlog.isOpen(endpoint, 1.9 * oneMs)).toBe(false);
    expect(backlog.isOpen(endpoint, 3.5 * oneMs)).toBe(true);
  });

  it('[Q316] have computed all prompts in the time of one, where each has one', () => {
    const { endpoint, backlog } = sent(8, 8, TOKENS);
    expect(backlog.computedMs(endpoint, ALL_MS) / ALL_MS).toBeCloseTo(1, 1);
  });

  it('[Q316] are crowded by as much more as they are', () => {
    const [one, eight] = [sent(1, 0, 0), sent(8, 0, 0)];
    const from = ({ backlog, endpoint, prefill }: World): number =>
      backlog.crowdedFrom([endpoint, prefill]);
    expect(from(eight)).toBe((9 / 2) * from(one));
  });
});
