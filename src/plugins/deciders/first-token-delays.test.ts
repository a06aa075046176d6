import { describe, expect, it } from 'vitest';
import { type ContextFields, makeContext, makePool, makeRequest } from '../../../test/makers.ts';
import { ENGINE_MODEL, IN_FLIGHT, type InFlightLoad } from '../../framework/cycle-facts.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import type { CycleKey, SchedulingContext } from '../../framework/scheduling.ts';
import { firstTokenDelaysMs } from './first-token-delays.ts';
import { FoundTokens } from './found-tokens.ts';

const [endpoint] = makePool([{}]) as unknown as readonly [Endpoint];
const SOME = { requests: 0.01, workMs: 0.5 };

/** By how much others are later because of 6,400 tokens, by default one request in 100 ms comes. */
function delays(load: Partial<InFlightLoad>, { among = 1, facts = new Map() }: Asked = {}): number {
  const request = makeRequest({ promptTokens: 6400 });
  const fields: ContextFields = { request, load: [load], totalBlocks: 100, demand: [SOME] };
  const others = { among, found: new FoundTokens() };
  return firstTokenDelaysMs(endpoint, withFacts(makeContext(fields), facts), others);
}

interface Asked {
  readonly among?: number;
  readonly facts?: ReadonlyMap<string, object>;
}

/** The context with further fields in the facts of these names. */
function withFacts(
  context: SchedulingContext,
  facts: ReadonlyMap<string, object>,
): SchedulingContext {
  const get = <T>(key: CycleKey<T>): T => ({ ...context.get(key), ...facts.get(key.name) }) as T;
  return { ...context, get };
}

describe('the delay of first tokens of others', () => {
  it('[Q368] grows by the step time that answers under way add', () => {
    const without = delays({});
    const stepMs = 0.05 * 100;
    const [perMs, promptMs] = [0.01 / (1 - 0.5), 0.04 * 6400 + 5e-7 * 6400 ** 2];
    expect(delays({ requests: 100 }) - without).toBeCloseTo(perMs * promptMs * stepMs, 6);
  });

  it('[Q369] is less where later requests have other endpoints to go to, and no less than by what waits', () => {
    const load = { pendingPrefillTokens: 2000 };
    const [alone, two, many] = [1, 2, 1e9].map((among) => delays(load, { among })) as [
      number,
      number,
      number,
    ];
    expect(two).toBeCloseTo((alone + many) / 2, 3);
    const [perMs, promptMs] = [0.01 / (1 - 0.5), 0.04 * 6400 + 5e-7 * 6400 ** 2];
    expect(many).toBeCloseTo(perMs * promptMs * (0.04 * 2000 + 6), 3);
  });

  it('[Q370] is without prompts that should be computed by now', () => {
    const load = { pendingPrefillTokens: 2000 };
    const computed = (ms: number) =>
      delays(load, { facts: new Map([[IN_FLIGHT.name, { computedMs: () => ms }]]) });
    expect(computed(0)).toBe(delays(load));
    expect(computed(80)).toBeCloseTo(delays({}), 6);
    expect(computed(500)).toBeCloseTo(delays({}), 6);
  });

  it('[Q367] goes by the rate since the start', () => {
    const model = { demandRateSinceStart: () => 0.5 };
    const half = delays({}, { facts: new Map([[ENGINE_MODEL.name, model]]) });
    expect(half / delays({})).toBeCloseTo((0.5 / 0.75) * 0.5, 6);
  });
});
