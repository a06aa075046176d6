import { describe, expect, test } from 'vitest';
import { makeContext, makePool, makeRuntime } from '../../../test/makers.ts';
import { type PrefixMatch, prefixMatchKey } from '../../framework/cycle-facts.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import type { Decision, ProfileResult } from '../../framework/scheduling.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { p2pSourceProducer } from './p2p-source.ts';

const SEED = 7;

interface Case {
  /** Matched blocks of 64 tokens, by endpoint. */
  readonly matched: readonly number[];
  /** What events say of them; nothing where both are missing. */
  readonly held?: readonly number[];
  readonly onHost?: readonly number[];
  readonly waiting?: readonly number[];
  readonly decode: number;
  readonly prefill?: number;
  readonly parameters?: object;
  readonly request?: string;
}

interface Found {
  /** The endpoint that the header names; undefined where there is no header. */
  readonly source: string | undefined;
  /** What need not be computed anywhere. */
  readonly reusableTokens: unknown;
}

const sourceOf = (given: Case): string | undefined => find(given).source;

function find({ matched, waiting = [], decode, prefill, ...rest }: Case): Found {
  const pool = makePool(matched.map((_, at) => ({ waiting: waiting[at] ?? 0 })));
  const result = (profile: string, at: number): ProfileResult => ({
    kind: 'picked',
    profile,
    targets: [{ endpoint: pool[at] as Endpoint, score: 1 }],
  });
  const primary = result('decode', decode);
  const profiles = prefill === undefined ? [primary] : [primary, result('prefill', prefill)];
  const decision: Decision = { primary, profiles, headers: new Map() };
  const random = seededRandom(SEED).fork(rest.request ?? 'r0');
  const { onHost, held = matched } = rest;
  const made = makeContext({ matchedBlocks: matched, random });
  const match = made.get(prefixMatchKey());
  const heldBlocks: PrefixMatch['heldBlocks'] = ({ slot }) =>
    onHost && { inAnyTier: held[slot] ?? 0, onHost: onHost[slot] ?? 0 };
  const context = { ...made, get: (): never => ({ ...match, heldBlocks }) as never };
  const config = p2pSourceProducer.config.parse(rest.parameters ?? {});
  const host = { name: 'p2p', pool: { snapshot: () => pool } as never, runtime: makeRuntime() };
  const source = p2pSourceProducer.start(config, host);
  const headers = [...(source.requestHeaders?.(decision, pool, context) ?? [])];
  expect(headers.every(([name]) => name === 'x-kv-cache-source-host-port')).toBe(true);
  const reusableTokens = source.facts?.[0]?.compute(pool, context);
  return { source: headers[0]?.[1], reusableTokens };
}

describe('p2p-source-producer', () => {
  test.each<[string, Case, string | undefined]>([
    ['names the server with the longest match', { matched: [0, 9, 3], decode: 0 }, 'pod-1:8000'],
    ['names none where none holds anything', { matched: [0, 0], decode: 0 }, undefined],
    [
      'names none where the computing server holds as much',
      { matched: [9, 8], decode: 0 },
      undefined,
    ],
    ['never names the computing server', { matched: [9, 0], decode: 0 }, undefined],
    [
      'compares with the prefill server where there is one',
      { matched: [0, 9, 9], decode: 0, prefill: 2 },
      undefined,
    ],
    [
      'counts the difference in tokens: 3 blocks are 192',
      { matched: [0, 3], decode: 0, parameters: { minCachedTokenDelta: 192 } },
      'pod-1:8000',
    ],
    [
      'names none below the least difference',
      { matched: [0, 3], decode: 0, parameters: { minCachedTokenDelta: 193 } },
      undefined,
    ],
    [
      'counts what is on hosts, where events say it',
      { matched: [0, 10, 8, 5], onHost: [0, 3, 8, 5], decode: 0 },
      'pod-2:8000',
    ],
    [
      'names none where nothing is on a host',
      { matched: [0, 9], onHost: [0, 0], decode: 0 },
      undefined,
    ],
    [
      'counts all that the computing server holds, by tier or not',
      { matched: [7, 8], onHost: [0, 8], held: [8, 8], decode: 0 },
      undefined,
    ],
    [
      'takes another name of the prefill profile',
      { matched: [0, 9, 9], decode: 0, prefill: 2, parameters: { prefillProfileName: 'other' } },
      'any',
    ],
  ])('[D63] [D432] %s', (_name, given, source) => {
    if (source === 'any') expect(sourceOf(given)).toBeDefined();
    else expect(sourceOf(given)).toBe(source);
  });

  test('[D63] draws among servers within one block, by the length of their queues', () => {
    const counts = new Map<string | undefined, number>();
    for (let at = 0; at < 4000; at++) {
      const source = sourceOf({
        matched: [0, 9, 8, 7],
        waiting: [0, 0, 3, 0],
        decode: 0,
        request: `r${at}`,
      });
      counts.set(source, (counts.get(source) ?? 0) + 1);
    }
    // Weights 1 and 1/4; the fourth is two blocks short.
    expect((counts.get('pod-1:8000') ?? 0) / 4000).toBeCloseTo(0.8, 1);
    expect((counts.get('pod-2:8000') ?? 0) / 4000).toBeCloseTo(0.2, 1);
    expect(counts.size).toBe(2);
  });

  test.each<[Case, number]>([
    [{ matched: [0, 9, 3], decode: 0 }, 9 * 64],
    // The computing server has them all itself.
    [{ matched: [9, 3], decode: 0 }, 9 * 64],
    [{ matched: [0, 3], decode: 0, parameters: { minCachedTokenDelta: 100 } }, 3 * 64 - 99],
    [{ matched: [0, 1], decode: 0, parameters: { minCachedTokenDelta: 100 } }, 0],
    [{ matched: [0, 10], onHost: [0, 4], decode: 0 }, 4 * 64],
    [{ matched: [0, 0], decode: 0 }, 0],
  ])('[D612] of %j, %i tokens need not be computed anywhere', (given, tokens) => {
    expect(find(given).reusableTokens).toBe(tokens);
  });

  test('[D612] what need not be computed is what the server has that the header names', () => {
    for (let at = 0; at < 100; at++) {
      const found = find({ matched: [0, 9, 8], decode: 0, request: `r${at}` });
      expect(found.reusableTokens).toBe(64 * (found.source === 'pod-1:8000' ? 9 : 8));
    }
  });

  test('[D63] the least difference is at least one token', () => {
    expect(() => p2pSourceProducer.config.parse({ minCachedTokenDelta: 0 })).toThrow();
  });
});
