import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EndpointId } from '../../framework/endpoint.ts';
import { EndpointPool } from '../pool/endpoint-pool.ts';
import type { EndpointReservation } from './endpoint-reservation.ts';
import { Ledger } from './ledger.ts';

const id = (n: number): EndpointId => `default/pod-${n}` as EndpointId;

function poolOf(size: number): { pool: EndpointPool; ledger: Ledger } {
  const pool = new EndpointPool();
  const ledger = new Ledger();
  pool.observeEndpoints(ledger);
  for (let n = 0; n < size; n++) {
    pool.upsert({ id: id(n), address: `10.0.0.${n}:8000`, labels: new Map() });
  }
  return { pool, ledger };
}

describe('Ledger', () => {
  it('counts a reservation at once and releases it once, for any number of calls', () => {
    const { pool, ledger } = poolOf(1);
    const endpoint = pool.snapshot()[0];
    if (endpoint === undefined) throw new Error('the pool is empty');
    const reservation = ledger.reserve(endpoint, {
      model: 'm',
      prefillTokens: 10.5,
      contextTokens: 40,
    });
    expect(ledger.load(endpoint)).toEqual({
      requests: 1,
      pendingPrefillTokens: 11,
      contextTokens: 40,
      countedTokens: 11,
      begunRequests: 0,
    });
    reservation.prefilled();
    reservation.prefilled();
    expect(ledger.load(endpoint)).toMatchObject({ pendingPrefillTokens: 0, begunRequests: 1 });
    expect(ledger.pendingRequests(endpoint)).toBe(0);
    reservation.release();
    reservation.release();
    reservation.prefilled();
    expect(ledger.load(endpoint)).toEqual({
      requests: 0,
      pendingPrefillTokens: 0,
      contextTokens: 0,
      countedTokens: 0,
      begunRequests: 0,
    });
  });

  it('does not charge the next owner of a slot for what its predecessor had in flight', () => {
    const { pool, ledger } = poolOf(1);
    const [first] = pool.snapshot();
    if (first === undefined) throw new Error('the pool is empty');
    const reservation = ledger.reserve(first, { model: 'm', prefillTokens: 5, contextTokens: 5 });
    pool.remove(first.id);
    pool.upsert({ id: id(9), address: '10.0.0.9:8000', labels: new Map() });
    const [second] = pool.snapshot();
    if (second === undefined) throw new Error('the pool is empty');
    expect(second.slot).toBe(first.slot);
    reservation.release();
    expect(ledger.load(second).requests).toBe(0);
  });

  it('returns to exactly zero after any order of picks, moves, first tokens, losses, ends and restarts', () => {
    const step = fc.record({
      kind: fc.constantFrom('reserve', 'prefilled', 'move', 'release', 'restart', 'lose', 'find'),
      which: fc.nat(1000),
      where: fc.nat(3),
      tokens: fc.double({ min: 0, max: 1e6, noNaN: true }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
        const { pool, ledger } = poolOf(4);
        const open: EndpointReservation[] = [];
        for (const { kind, which, where, tokens } of steps) {
          const endpoint = pool.get(id(where));
          if (endpoint === undefined) throw new Error('an endpoint is missing');
          const reservation = open[which % Math.max(1, open.length)];
          if (kind === 'reserve') {
            open.push(
              ledger.reserve(endpoint, {
                model: 'm',
                prefillTokens: tokens,
                contextTokens: tokens,
                ...(which % 2 === 0 && { keptTokens: tokens + 1 }),
              }),
            );
          } else if (kind === 'prefilled') reservation?.prefilled();
          else if (kind === 'move') reservation?.moveTo(endpoint);
          else if (kind === 'release') reservation?.release();
          else if (kind === 'lose') reservation?.setLost('missing');
          else if (kind === 'find') reservation?.setLost(undefined);
          else {
            pool.remove(endpoint.id);
            pool.upsert({ id: endpoint.id, address: endpoint.address, labels: new Map() });
          }
        }
        for (const reservation of open) reservation.release();
        for (const endpoint of pool.snapshot()) {
          expect(ledger.occupied(endpoint)).toBe(0);
          expect(ledger.lost(endpoint)).toBe(0);
          expect(ledger.load(endpoint)).toEqual({
            requests: 0,
            pendingPrefillTokens: 0,
            contextTokens: 0,
            countedTokens: 0,
            begunRequests: 0,
          });
        }
      }),
      { seed: 853 },
    );
  });
});

it('[Q327] gives a rank that comes back what it had, and not what another rank of its server had', () => {
  const { pool, ledger } = poolOf(0);
  const put = (rank: number): void => {
    const labels = new Map([['pointsman.dev/data-parallel-rank', String(rank)]]);
    pool.upsert({ id: id(rank), address: '10.0.0.1:8000', labels });
  };
  put(0);
  put(1);
  const [first] = pool.snapshot();
  if (first === undefined) throw new Error('the pool is empty');
  ledger.reserve(first, { model: 'm', prefillTokens: 10, contextTokens: 40 });
  for (const each of [0, 1]) pool.remove(id(each));
  put(1);
  put(0);
  expect(pool.snapshot().map((each) => ledger.occupied(each))).toEqual([0, 1]);
});

it('[Q327] gives what was in flight at an address to the first endpoint that comes there, and to no second one', () => {
  const { pool, ledger } = poolOf(1);
  const [first] = pool.snapshot();
  if (first === undefined) throw new Error('the pool is empty');
  const { address } = first;
  ledger.reserve(first, { model: 'm', prefillTokens: 10, contextTokens: 40 });
  pool.remove(first.id);
  for (const each of [1, 2]) pool.upsert({ id: id(each), address, labels: new Map() });
  expect(pool.snapshot().map((each) => ledger.occupied(each))).toEqual([1, 0]);
});
