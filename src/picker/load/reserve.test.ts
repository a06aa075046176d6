import { describe, expect, it } from 'vitest';
import { makePool, makeRequest } from '../../../test/makers.ts';
import { countedTokens } from '../../framework/cycle-facts.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import { EngineModel } from '../engine-model/engine-model.ts';
import { Ledger } from './ledger.ts';
import { reserve } from './reserve.ts';

function setUp() {
  const ledger = new Ledger();
  const pool = makePool([{}, {}, {}, {}]);
  for (const endpoint of pool) ledger.onEndpointAdded(endpoint);
  const [decode, prefill, ...encoders] = pool as [Endpoint, Endpoint, ...Endpoint[]];
  const request = makeRequest({ promptTokens: 1000, outputTokensMax: 10 });
  const parts = { request, cachedTokens: 0, ledger, engineModel: new EngineModel() };
  const requests = (): number[] => pool.map((endpoint) => ledger.load(endpoint).requests);
  const held = (): number =>
    pool.reduce((sum, endpoint) => {
      const load = ledger.load(endpoint);
      return sum + load.requests + load.pendingPrefillTokens + load.contextTokens;
    }, 0);
  return { ledger, decode, prefill, encoders, parts, requests, held };
}

describe('reserve', () => {
  it('counts a request where it is encoded and computed until its first token, where it decodes until its end', () => {
    const { ledger, decode, prefill, encoders, parts, requests, held } = setUp();
    const computes = { endpoint: prefill, cachedTokens: 200 };
    const { reservation } = reserve(decode, { ...parts, prefill: computes, encoders });
    expect(requests()).toEqual([1, 1, 1, 1]);
    expect(ledger.load(prefill).pendingPrefillTokens).toBe(800);
    expect(ledger.load(decode).pendingPrefillTokens).toBe(0);
    reservation.prefilled();
    expect(requests()).toEqual([1, 0, 0, 0]);
    reservation.release();
    expect(held()).toBe(0);
  });

  it('[Q339] says what was in flight where the prompt is computed, as it was before the request', () => {
    const { decode, prefill, parts } = setUp();
    const split = { ...parts, encoders: [], prefill: { endpoint: prefill, cachedTokens: 200 } };
    const [first, second] = [reserve(decode, split), reserve(decode, split)];
    expect(first.prefillLoad).toMatchObject({ requests: 0, pendingPrefillTokens: 0 });
    expect(second.prefillLoad).toMatchObject({ requests: 1, pendingPrefillTokens: 800 });
    expect(reserve(decode, { ...split, prefill: undefined }).prefillLoad).toBeUndefined();
  });

  it('[D327] counts the estimated answer and the prompt until the end, and a prompt elsewhere until its first token', () => {
    const { ledger, decode, prefill, parts } = setUp();
    const estimated = { ...parts, encoders: [], estimatedOutputTokens: 300 };
    const counted = (): number[] =>
      [decode, prefill].map((each) => countedTokens(ledger.load(each)));
    const whole = reserve(decode, { ...estimated, prefill: undefined, cachedTokens: 400 });
    expect(counted()).toEqual([900, 0]);
    whole.reservation.prefilled();
    expect(counted()).toEqual([900, 0]);
    const computes = { endpoint: prefill, cachedTokens: 200 };
    const split = reserve(decode, { ...estimated, prefill: computes });
    expect(counted()).toEqual([2200, 800]);
    split.reservation.prefilled();
    expect(counted()).toEqual([2200, 0]);
    split.reservation.release();
    whole.reservation.release();
    expect(counted()).toEqual([0, 0]);
  });

  it('[D435] counts what the decoder does not hold of a prompt that is computed elsewhere, too, until its first token', () => {
    const { ledger, decode, prefill, parts, held } = setUp();
    const counted = (): number[] =>
      [decode, prefill].map((each) => countedTokens(ledger.load(each)));
    const computes = { endpoint: prefill, cachedTokens: 200 };
    const split = { ...parts, encoders: [], cachedTokens: 300, prefill: computes };
    const [first, second] = [reserve(decode, split), reserve(decode, split)];
    expect(counted()).toEqual([1400, 1600]);
    expect(ledger.load(decode).pendingPrefillTokens).toBe(0);
    first.reservation.prefilled();
    first.reservation.prefilled();
    expect(counted()).toEqual([700, 800]);
    first.reservation.release();
    second.reservation.release();
    expect(counted()).toEqual([0, 0]);
    expect(held()).toBe(0);
  });

  it('[D473] counts the tokens of a prompt where its media are encoded, until its first token, for plugins of the reference alone', () => {
    const { ledger, decode, prefill, encoders, parts } = setUp();
    const counted = (): number[] =>
      [decode, prefill, ...encoders].map((each) => countedTokens(ledger.load(each)));
    const computes = { endpoint: prefill, cachedTokens: 200 };
    const { reservation } = reserve(decode, { ...parts, prefill: computes, encoders });
    expect(counted()).toEqual([1000, 800, 1000, 1000]);
    for (const encoder of encoders) {
      expect(ledger.load(encoder)).toMatchObject({ pendingPrefillTokens: 0, contextTokens: 0 });
    }
    reservation.prefilled();
    expect(counted()).toEqual([0, 0, 0, 0]);
  });

  it('counts a prompt on the decoder where only its media go elsewhere', () => {
    const { ledger, decode, encoders, parts, requests, held } = setUp();
    const { reservation } = reserve(decode, { ...parts, prefill: undefined, encoders });
    expect(requests()).toEqual([1, 0, 1, 1]);
    expect(ledger.load(decode).pendingPrefillTokens).toBe(1000);
    reservation.prefilled();
    expect(ledger.load(decode).pendingPrefillTokens).toBe(0);
    expect(requests()).toEqual([1, 0, 0, 0]);
    reservation.release();
    expect(held()).toBe(0);
  });

  it('releases everything when a request ends before its first token, for any number of calls', () => {
    const { decode, prefill, encoders, parts, held } = setUp();
    const computes = { endpoint: prefill, cachedTokens: 0 };
    const { reservation } = reserve(decode, { ...parts, prefill: computes, encoders });
    reservation.release();
    reservation.prefilled();
    reservation.release();
    expect(held()).toBe(0);
  });
});
