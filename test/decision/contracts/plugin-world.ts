import { EMBEDDED_CATALOGUE } from '../../../src/catalogue/built-in-catalogue.ts';
import type { Endpoint } from '../../../src/framework/endpoint.ts';
import { LORA } from '../../../src/framework/endpoint-attributes.ts';
import type { Observer } from '../../../src/framework/observer.ts';
import type { PluginCatalogue } from '../../../src/framework/plugin.ts';
import type { InferenceRequest } from '../../../src/framework/request.ts';
import type { Random, Runtime } from '../../../src/framework/runtime.ts';
import type { SchedulingContext, ScoredEndpoint } from '../../../src/framework/scheduling.ts';
import { seededRandom } from '../../../src/runtime/seeded-random.ts';
import {
  type EndpointFields,
  makeContext,
  makeEndpoint,
  makePool,
  makeRequest,
  makeRouted,
  makeRuntime,
  NEVER,
  NOW,
} from '../../makers.ts';
import { drawnBelow } from '../../support/drawn.ts';

export const SEED = 20_260_101;
export const SIZES: readonly number[] = [0, 1, 2, 17, 256];
export const catalogue: PluginCatalogue = EMBEDDED_CATALOGUE;
export const runtime: Runtime = makeRuntime(SEED);

/** Whole numbers from a small range, so that ties occur. */
export type Freshness = 'fresh' | 'stale' | 'never';

function randomFields(random: Random, freshness: Freshness): EndpointFields {
  const role = ['decode', 'prefill', 'both', 'encode', undefined][drawnBelow(random, 5)];
  const idle = freshness !== 'fresh';
  const lora = {
    running: new Set(drawnBelow(random, 2) === 0 ? ['m'] : ['other']),
    waiting: new Set(drawnBelow(random, 2) === 0 ? ['m'] : []),
    max: drawnBelow(random, 3),
  };
  return {
    ...(role !== undefined && { labels: { 'llm-d.ai/role': role } }),
    // One that is not scraped shows zeros, which must not pass for idleness.
    waiting: idle ? 0 : drawnBelow(random, 9) * drawnBelow(random, 50),
    running: idle ? 0 : drawnBelow(random, 9),
    kv: idle ? 0 : drawnBelow(random, 5) / 4,
    sampledAt: { fresh: NOW - drawnBelow(random, 50), stale: NOW - 60_000, never: NEVER }[
      freshness
    ],
    attributes: freshness === 'never' || drawnBelow(random, 2) === 0 ? [] : [[LORA as never, lora]],
  };
}

export interface World {
  readonly endpoints: readonly Endpoint[];
  readonly context: SchedulingContext;
}

export const KINDS: Readonly<Record<string, readonly Freshness[]>> = {
  'all fresh': ['fresh'],
  'none scraped': ['never'],
  'all stale': ['stale'],
  mixed: ['fresh', 'stale', 'never'],
};

/** `context()` anew for each call, so that each call draws the same chance. */
export function world(
  { size, kinds, needs }: { size: number; kinds: readonly Freshness[]; needs: ReadonlySet<string> },
  seed: number = SEED,
): { endpoints: readonly Endpoint[]; context: () => SchedulingContext } {
  const random = seededRandom(seed + size);
  const each = <T>(make: () => T): readonly T[] => Array.from({ length: size }, make);
  const endpoints = makePool(
    each(() => randomFields(random, kinds[drawnBelow(random, kinds.length)] ?? 'fresh')),
  );
  const load = each(() => ({
    requests: drawnBelow(random, 20),
    pendingPrefillTokens: drawnBelow(random, 9) * 1000,
    contextTokens: drawnBelow(random, 9) * 50_000,
  }));
  const matchedBlocks = each(() => Math.max(0, drawnBelow(random, 14) - 4));
  const request = makeRequest({ headers: new Map([['x-session-id', 's1']]) });
  return {
    endpoints,
    context: () => makeContext({ request, needs, load, matchedBlocks, random: seededRandom(seed) }),
  };
}

/** All that a plugin can hear, about every endpoint of a pool, in an order of chance. */
export function tell(
  observer: Observer,
  endpoints: readonly Endpoint[],
  seed: number = SEED,
): void {
  const random = seededRandom(seed);
  for (const endpoint of endpoints) observer.onEndpointAdded?.(endpoint);
  for (let turn = 0; turn < 3 * endpoints.length; turn++) {
    const endpoint = endpoints[drawnBelow(random, endpoints.length)];
    if (endpoint === undefined) return;
    const request = makeRequest({
      id: `told-${turn}`,
      headers: new Map([['x-session-id', `s${drawnBelow(random, 4)}`]]),
    });
    const routed = makeRouted(endpoint, { request, cachedTokens: drawnBelow(random, 2) * 64 });
    observer.onRouted?.(routed);
    observer.onBodyRead?.(routed, request);
    observer.onFirstToken?.(routed, NOW + 1);
    observer.onAnswered?.(routed, request.prompt);
    const outcome =
      (['completed', 'aborted', 'failed'] as const)[drawnBelow(random, 3)] ?? 'failed';
    observer.onDone?.(routed, NOW + 2, outcome, undefined);
    observer.onEndpointChanged?.(endpoint, endpoint);
  }
}
/** The names of the headers that are looked for while something happens with a request. */
export function headersReadIn(happen: (request: InferenceRequest) => void): ReadonlySet<string> {
  const names = new Set<string>();
  const headers = new Map([['x-session-id', 's1']]);
  const watched: ReadonlyMap<string, string> = new Proxy(headers, {
    get(target, name) {
      if (name !== 'get' && name !== 'has') throw new Error(`reads all headers: ${String(name)}`);
      return (header: string) => {
        names.add(header);
        return target[name](header);
      };
    },
  });
  happen(makeRequest({ headers: watched }));
  return names;
}

/** An endpoint for each score. */
export function candidates(scores: readonly number[]): readonly ScoredEndpoint[] {
  return Object.freeze(
    scores.map((score, slot) =>
      Object.freeze({ endpoint: makeEndpoint(`pod-${slot}`, { slot }), score }),
    ),
  );
}
