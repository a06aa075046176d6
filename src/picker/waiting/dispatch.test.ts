import { expect, it } from 'vitest';
import { makeEndpoint, makeRequest } from '../../../test/makers.ts';
import { ByPriority } from '../../flow/by-priority.ts';
import type { Waiting } from '../../flow/discipline.ts';
import { NO_BLOCKS } from '../../framework/request.ts';
import { EngineModel } from '../engine-model/engine-model.ts';
import { ConcurrencyLimit } from '../load/concurrency-limit.ts';
import { EndpointBacklog } from '../load/endpoint-backlog.ts';
import { Ledger } from '../load/ledger.ts';
import { EndpointPool } from '../pool/endpoint-pool.ts';
import { Dispatch } from './dispatch.ts';
import type { HeldRequest, Target } from './held-request.ts';

const POOL = 100;
const WAITING = 20_000;

it('[Q10] decides a bounded number of requests in one dispatch, and looks at a bounded number', () => {
  const pool = new EndpointPool();
  const ledger = new Ledger();
  pool.observeEndpoints(ledger);
  for (let n = 0; n < POOL; n++) pool.upsert(makeEndpoint(`e${n}`));
  const endpoints = pool.snapshot();
  for (const endpoint of endpoints.slice(1)) {
    ledger.reserve(endpoint, { model: 'm', prefillTokens: 1e6, contextTokens: 1e6 });
  }
  const limit = new ConcurrencyLimit(ledger);
  const backlog = new EndpointBacklog({ ledger, engineModel: new EngineModel(), limit });
  // So that the others are not overdue.
  const request = makeRequest({ promptTokens: 1e6 });
  for (const endpoint of endpoints) {
    const load = ledger.load(endpoint);
    const sent = { number: 0, request, endpoint, at: 0, cachedTokens: 0, load };
    backlog.routed({ ...sent, firstTokenSeen: true });
  }
  const targetOf = (slot: number): Target => {
    const endpoint = endpoints[slot] ?? makeEndpoint('none');
    const load = { endpoint, prefillTokens: 100, contextTokens: 100, prompt: NO_BLOCKS };
    return { endpoint, prefill: undefined, ownMs: 4, load };
  };
  const discipline = new ByPriority(() => ({ maxRequests: WAITING, maxBytes: 1e12 }));
  const held = new Map<Waiting, HeldRequest>();
  let looked = 0;
  let decided = 0;
  const placed: HeldRequest[] = [];
  for (let n = 0; n < WAITING; n++) {
    const waiting = { request: makeRequest({ id: `r${n}` }), since: 0, bytes: 1, candidates: POOL };
    discipline.add(waiting, 0);
    const placement = { placed: () => undefined, refused: () => undefined };
    held.set(waiting, { waiting, options: {}, placement, target: targetOf(1), decidedAt: 0 });
  }
  const dispatch = new Dispatch({
    pool,
    backlog,
    heldOf: (waiting) => {
      looked += 1;
      return held.get(waiting);
    },
    decideAnew: (each, at) => {
      decided += 1;
      each.decidedAt = at;
      each.target = targetOf(decided % 3 === 0 ? 0 : 2);
      return undefined;
    },
    place: (each, _cycle, at) => {
      placed.push(each);
      discipline.placed(each.waiting, at);
    },
  });
  dispatch.run(discipline, 'response-ratio', 10);
  expect(placed.length).toBeGreaterThan(0);
  expect(decided).toBeLessThanOrEqual(16);
  expect(looked).toBeLessThanOrEqual(20 * 256);
});
