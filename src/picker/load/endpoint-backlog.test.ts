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
  readonly ledger: Ledger;
  readonly backlog: EndpointBacklog;
}

function makeWorld(): World {
  const [endpoint] = makePool([{}]) as [Endpoint];
  const ledger = new Ledger();
  ledger.onEndpointAdded(endpoint);
  const engineModel = new EngineModel();
  const limit = new ConcurrencyLimit(ledger);
  const slots = new AdapterSlots(ledger);
  return { endpoint, ledger, backlog: new EndpointBacklog({ ledger, engineModel, limit, slots }) };
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
