import { expect, it } from 'vitest';
import { makePool, makeRequest } from '../../../test/makers.ts';
import { PRIOR_STEP_TIME } from '../../cost-model/step-time.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import type { Routed } from '../../framework/observer.ts';
import { EngineModel } from '../engine-model/engine-model.ts';
import { AdapterSlots } from './adapter-slots.ts';
import { ConcurrencyLimit } from './concurrency-limit.ts';
import { EndpointBacklog } from './endpoint-backlog.ts';
import { Ledger } from './ledger.ts';

const TOKENS = 10_000;
const ALL_MS = PRIOR_STEP_TIME.perPrefillTokenMs * TOKENS;

it('[Q244] expects what is overdue to take as long again', () => {
  const [endpoint] = makePool([{}]) as [Endpoint];
  const ledger = new Ledger();
  ledger.onEndpointAdded(endpoint);
  const engineModel = new EngineModel();
  const limit = new ConcurrencyLimit(ledger);
  const slots = new AdapterSlots(ledger);
  const backlog = new EndpointBacklog({ ledger, engineModel, limit, slots });
  expect(backlog.computedMs(endpoint, 0)).toBe(0);
  const request = makeRequest({ promptTokens: TOKENS });
  backlog.routed({ endpoint, request, at: 0, cachedTokens: 0 } as Routed);
  ledger.reserve(endpoint, { model: 'm', prefillTokens: TOKENS, contextTokens: TOKENS });
  const shares = [0, 0.5, 1, 1.5, 2.1, 50].map(
    (part) => backlog.computedMs(endpoint, part * ALL_MS) / ALL_MS,
  );
  // The step's own time lets all of it end a little later.
  const expected = [0, 0.5, 1, 0.5, 0, 0];
  shares.forEach((share, n) => expect(share).toBeCloseTo(expected[n] as number, 1));
});
