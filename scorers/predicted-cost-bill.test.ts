import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PRIOR_STEP_TIME } from '../src/cost-model/step-time.ts';
import { type Errand, emptyBill, type Place, reckon } from './predicted-cost-bill.ts';

const ERRAND: Errand = { promptTokens: 4000, outputTokens: 200, demandRate: 1 };
const PLACE: Place = {
  load: { requests: 5, pendingPrefillTokens: 1000, contextTokens: 20_000 },
  engine: PRIOR_STEP_TIME,
  demand: { requests: 0.002, workMs: 0.4 },
  cachedTokens: 0,
  capacityTokens: 400_000,
  heldTokens: 30_000,
  adapterMs: 0,
  suspectMs: 0,
  stale: false,
};

const cost = (errand: Partial<Errand>, place: Partial<Place>): number =>
  reckon({ ...ERRAND, ...errand }, { ...PLACE, ...place }, emptyBill());

const tokens = fc.integer({ min: 0, max: 10_000_000 });
const places = fc.record({
  load: fc.record({
    requests: fc.integer({ min: 0, max: 5000 }),
    pendingPrefillTokens: tokens,
    contextTokens: tokens,
  }),
  demand: fc.record({
    requests: fc.double({ min: 0, max: 100, noNaN: true }),
    workMs: fc.double({ min: 0, max: 1e4, noNaN: true }),
  }),
  cachedTokens: tokens,
  heldTokens: tokens,
  capacityTokens: fc.integer({ min: 1, max: 10_000_000 }),
});

describe('what a request costs at a place', () => {
  it('is finite and above 0 wherever it goes, and no term is below 0', () => {
    fc.assert(
      fc.property(tokens, places, (promptTokens, place) => {
        const bill = emptyBill();
        const total = reckon({ ...ERRAND, promptTokens }, { ...PLACE, ...place }, bill);
        expect(Number.isFinite(total)).toBe(true);
        expect(total).toBeGreaterThan(0);
        expect(Math.min(...Object.values(bill))).toBeGreaterThanOrEqual(0);
      }),
      { seed: 9 },
    );
  });

  it('is never less where less of it is cached, more waits, more has come of late, or memory is fuller', () => {
    fc.assert(
      fc.property(places, tokens, (place, more) => {
        const dearer: readonly Partial<Place>[] = [
          { cachedTokens: Math.max(0, place.cachedTokens - more) },
          {
            load: {
              ...place.load,
              pendingPrefillTokens: place.load.pendingPrefillTokens + more,
            },
          },
          { demand: { ...place.demand, requests: 2 * place.demand.requests } },
          { heldTokens: place.heldTokens + more },
        ];
        const here = cost({}, place);
        for (const each of dearer) {
          expect(cost({}, { ...place, ...each })).toBeGreaterThanOrEqual(here * (1 - 1e-9));
        }
      }),
      { seed: 9 },
    );
  });

  it('counts for those who come later all that waits: twice the backlog, about twice as much', () => {
    const laterMs = (pendingPrefillTokens: number): number => {
      const bill = emptyBill();
      reckon(ERRAND, { ...PLACE, load: { ...PLACE.load, pendingPrefillTokens } }, bill);
      return bill.laterMs;
    };
    expect(laterMs(200_000) / laterMs(100_000)).toBeCloseTo(2, 1);
  });

  it('waits for no memory while a fifth of it is free', () => {
    const bill = emptyBill();
    reckon(ERRAND, { ...PLACE, heldTokens: 300_000 }, bill);
    expect([bill.memoryMs, bill.memoryLaterMs]).toEqual([0, 0]);
    reckon(ERRAND, { ...PLACE, heldTokens: 350_000 }, bill);
    expect(bill.memoryMs).toBeGreaterThan(0);
    expect(bill.memoryLaterMs).toBeGreaterThan(0);
  });
});
