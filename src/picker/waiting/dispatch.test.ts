import { expect, it } from 'vitest';
import { makeEndpoint, makeRequest } from '../../../test/makers.ts';
import { FairShares } from '../../flow/fair-shares.ts';
import { WaitingQueue } from '../../flow/waiting-queue.ts';
import { Arrival } from './arrival.ts';
import { Dispatch } from './dispatch.ts';
import type { HeldRequest, Target } from './held-request.ts';

const ENDPOINTS = Array.from({ length: 40 }, (_, n) => makeEndpoint(`e${n}`, { slot: n }));
const WAITING = 20_000;
const SHARES = new FairShares();
const REQUEST = makeRequest();

interface World {
  readonly dispatch: Dispatch;
  readonly queue: WaitingQueue<HeldRequest>;
  readonly open: Set<string>;
  readonly placed: string[];
  decided: number;
  /** Where the next decisions let requests wait. */
  best: number;
}

function targetOf(n: number): Target {
  const endpoint = ENDPOINTS[n] ?? makeEndpoint('none');
  const load = { endpoint, prefillTokens: 100, request: REQUEST, share: SHARES.of(REQUEST) };
  return { endpoint, prefill: undefined, adapter: undefined, ownMs: 4, load };
}

/** All wait for e1. */
function worldOf(waiting: number): World {
  const queue = new WaitingQueue<HeldRequest>(SHARES);
  const open = new Set<string>();
  const placed: string[] = [];
  for (let n = 0; n < waiting; n++) {
    const request = makeRequest({ id: `r${n}` });
    const placement = { placed: () => undefined, refused: () => undefined };
    const share = SHARES.of(request);
    const of = {
      share,
      waiting: { request, since: 0, bytes: 1, candidates: 1 },
      options: {},
      placement,
      arrival: new Arrival(placement),
    };
    queue.add({ ...of, number: n, target: targetOf(1), ownMs: 4, decidedAt: 0 }, 'e1');
  }
  const dispatch = new Dispatch({
    pool: {
      get: (id) => ENDPOINTS.find((each) => each.id === id),
      snapshot: () => ENDPOINTS,
    },
    backlog: {
      isOpen: ({ id }) => open.has(id),
      isOpenFor: () => false,
      hasSlot: () => true,
    },
    holds: () => true,
    pendingBelow: () => undefined,
    queue,
    decideAnew: (held, at) => {
      world.decided += 1;
      queue.move(held, () => {
        held.decidedAt = at;
        held.target = targetOf(world.best);
        return held.target.endpoint.id;
      });
      return undefined;
    },
    place: (held) => {
      placed.push(held.waiting.request.id);
      queue.delete(held);
    },
  });
  const world: World = { dispatch, queue, open, placed, decided: 0, best: 1 };
  return world;
}

it('[Q10] a dispatch makes a bounded number of decisions, and says whether there is more to do', () => {
  const world = worldOf(WAITING);
  world.open.add('e1');
  expect(world.dispatch.run(10)).toBe(true);
  expect(world.placed).toEqual(['r0', 'r1', 'r2']);
  expect(world.decided).toBe(3);
  while (world.dispatch.run(10)) expect(world.decided).toBeLessThanOrEqual(WAITING);
  expect([world.placed.length, world.queue.size]).toEqual([WAITING, 0]);
});

it('[Q115] what waits for a full endpoint is decided anew while another is open, ever more seldom', () => {
  const world = worldOf(1);
  world.open.add('e2');
  for (let at = 2; at <= 60_000; at += 2) world.dispatch.run(at);
  expect(world.decided).toBeLessThan(60);
  world.best = 2;
  world.dispatch.run(80_000);
  expect(world.placed).toEqual(['r0']);
});

it('[Q115] nothing is decided anew while no endpoint is open', () => {
  const world = worldOf(100);
  for (let at = 2; at <= 60_000; at += 2) expect(world.dispatch.run(at)).toBe(false);
  expect(world.decided).toBe(0);
});
