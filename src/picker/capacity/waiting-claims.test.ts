import { expect, it } from 'vitest';
import { makePool, makeRouted, NOW } from '../../../test/makers.ts';
import type { AttributeKey, Endpoint } from '../../framework/endpoint.ts';
import { CACHE_CONFIG } from '../../framework/endpoint-attributes.ts';
import type { Routed } from '../../framework/observer.ts';
import { AdapterNames } from '../engine-model/adapter-names.ts';
import { WaitingClaims } from './waiting-claims.ts';

const CLAIM_MS = 2000;
const EXPECTED_MS = 80;
const [endpoint] = makePool([{}]) as [Endpoint];

function afterAnswers(count: number, delayMs: number, fields: Partial<Routed> = {}): number {
  const claims = new WaitingClaims(new AdapterNames());
  for (let n = 0; n < count; n++) {
    const routed = makeRouted(endpoint, { expectedTtftMs: EXPECTED_MS, ...fields });
    claims.sent(routed, CLAIM_MS);
    claims.onFirstToken(routed, NOW + EXPECTED_MS + delayMs);
  }
  return claims.share(endpoint.slot);
}

it('[Q251] What an endpoint reports as waiting counts in full until answers say otherwise', () => {
  expect(new WaitingClaims(new AdapterNames()).share(0)).toBe(1);
  expect(afterAnswers(40, CLAIM_MS)).toBe(1);
});

it('[Q251] It counts for as much as it delays first tokens, which a few answers show', () => {
  expect(afterAnswers(3, 0)).toBeLessThan(0.1);
  expect(afterAnswers(40, CLAIM_MS / 2)).toBeCloseTo(0.5, 1);
});

it('[Q251] Answers in one piece show it, too', () => {
  const claims = new WaitingClaims(new AdapterNames());
  for (let n = 0; n < 5; n++) {
    const routed = makeRouted(endpoint, {
      firstTokenVisible: false,
      expectedTtftMs: EXPECTED_MS,
      expectedTpotMs: 10,
    });
    claims.sent(routed, CLAIM_MS);
    const usage = { promptTokens: 10, completionTokens: 50, cachedTokens: 0 };
    claims.onDone(routed, NOW + EXPECTED_MS + 500, 'completed', usage);
  }
  expect(claims.share(endpoint.slot)).toBeLessThan(0.1);
});

it('[Q251] A request that may wait for memory shows nothing of it', () => {
  const attributes = [
    [CACHE_CONFIG as AttributeKey<never>, { blocks: 100, blockTokens: 16 }],
  ] as const;
  const [small] = makePool([{ attributes }]) as [Endpoint];
  const load = { requests: 1, pendingPrefillTokens: 0, contextTokens: 1500 };
  expect(afterAnswers(40, CLAIM_MS / 2, { endpoint: small, load })).toBe(1);
});

it('[Q251] A new endpoint with the number of one that has gone counts as any other', () => {
  const claims = new WaitingClaims(new AdapterNames());
  const routed = makeRouted(endpoint, { expectedTtftMs: EXPECTED_MS });
  claims.sent(routed, CLAIM_MS);
  claims.onFirstToken(routed, NOW + EXPECTED_MS);
  expect(claims.share(endpoint.slot)).toBeLessThan(0.1);
  claims.forget(endpoint.slot);
  expect(claims.share(endpoint.slot)).toBe(1);
});
