import { describe, expect, test } from 'vitest';
import {
  type EndpointFields,
  makeContext,
  makePool,
  makeRequest,
  makeRuntime,
  NEVER,
} from '../../../test/makers.ts';
import { PRIOR_STEP_TIME } from '../../cost-model/step-time.ts';
import { RoutingError } from '../../framework/error.ts';
import type { DataSource, DataSourceDefinition } from '../../framework/plugin.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { SchedulingContext } from '../../framework/scheduling.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { latencySloAdmitter } from './latency-slo.ts';
import { probabilisticAdmitter } from './probabilistic.ts';

function start(definition: DataSourceDefinition, parameters: unknown = {}): DataSource {
  const pool = { snapshot: () => [], observe: () => undefined, set: () => undefined };
  const config = definition.config.parse(parameters);
  return definition.start(config, { name: definition.type, pool, runtime: makeRuntime() });
}

/** The code of the refusal; undefined where the request is admitted. */
function refusal(
  source: DataSource,
  fields: readonly EndpointFields[],
  context: SchedulingContext,
): string | undefined {
  try {
    source.admit?.(makePool(fields), context);
    return undefined;
  } catch (error) {
    if (error instanceof RoutingError) return error.code;
    throw error;
  }
}

const BUSY: EndpointFields = { running: 4, kv: 0.5 };

function sloContext(request: Partial<InferenceRequest>): SchedulingContext {
  return makeContext({ request: makeRequest(request), stepTimes: [PRIOR_STEP_TIME] });
}

describe('latency-slo-admitter', () => {
  const source = start(latencySloAdmitter);
  const missed = { priority: -1, ttftSloMs: 0.001 };

  test.each<[string, Partial<InferenceRequest>, EndpointFields, string | undefined]>([
    ['no endpoint can meet the objective', missed, BUSY, 'saturated'],
    ['a goal for tokens cannot be met', { priority: -1, tpotSloMs: 0.001 }, BUSY, 'saturated'],
    ['the objective can be met', { ...missed, ttftSloMs: 1e6 }, BUSY, undefined],
    ['the priority is 0', { ...missed, priority: 0 }, BUSY, undefined],
    ['there is no objective', { priority: -1 }, BUSY, undefined],
    ['an endpoint is idle', missed, { ...BUSY, running: 0 }, undefined],
    ['an endpoint is cold', missed, { ...BUSY, kv: 0.019 }, undefined],
    ['an endpoint is unknown', missed, { ...BUSY, sampledAt: NEVER }, undefined],
  ])('[D51] where %s', (_name, request, endpoint, code) => {
    expect(refusal(source, [endpoint], sloContext(request))).toBe(code);
  });
});

describe('probabilistic-admitter', () => {
  const SEED = 20_261_122;

  /** The share of 4,000 requests of priority -1 that are refused. */
  function refusedShare(parameters: unknown, fields: readonly EndpointFields[]): number {
    const source = start(probabilisticAdmitter, parameters);
    const random = seededRandom(SEED);
    let refused = 0;
    for (let at = 0; at < 4000; at++) {
      const request = makeRequest({ id: `r${at}`, priority: -1 });
      const context = makeContext({ request, random: random.fork(request.id) });
      if (refusal(source, fields, context) === 'saturated') refused += 1;
    }
    return refused / 4000;
  }

  // saturation = mean of max(waiting / 5, kv / 0.8); p = min(1, 300 × saturation^5)
  test.each<[string, readonly EndpointFields[], number]>([
    ['an idle pool: 0', [{}], 0],
    ['0.2 by its queue: 300 × 0.00032', [{ waiting: 1 }], 0.096],
    ['0.25 by its memory: 300 × 0.0009766', [{ kv: 0.2 }], 0.293],
    ['the mean of 0.4 and 0: 0.2', [{ waiting: 2 }, {}], 0.096],
    ['0.4 and more: above 1', [{ waiting: 2 }], 1],
    ['an endpoint that was never scraped counts as 1', [{ sampledAt: NEVER }], 1],
  ])('[D52] %s', (_name, fields, probability) => {
    expect(refusedShare({}, fields)).toBeCloseTo(probability, 1);
  });

  test('[D52] the bounds, the power and the factor are parameters', () => {
    const parameters = { queueDepthThreshold: 10, kvCacheUtilThreshold: 1, power: 1, k: 1 };
    expect(refusedShare(parameters, [{ waiting: 5, kv: 0.3 }])).toBeCloseTo(0.5, 1);
    for (const wrong of [{ queueDepthThreshold: 0 }, { kvCacheUtilThreshold: 0 }, { power: 0 }]) {
      expect(() => probabilisticAdmitter.config.parse(wrong)).toThrow();
    }
    expect(() => probabilisticAdmitter.config.parse({ k: -1 })).toThrow();
  });

  test('[D52] requests of priority 0 are never refused, and the same request always alike', () => {
    const source = start(probabilisticAdmitter);
    const full = [{ waiting: 100 }];
    expect(refusal(source, full, makeContext())).toBeUndefined();
    const request = makeRequest({ priority: -1 });
    const fields = [{ waiting: 1 }];
    const random = seededRandom(SEED);
    const once = refusal(source, fields, makeContext({ request, random: random.fork('r') }));
    const again = refusal(source, fields, makeContext({ request, random: random.fork('r') }));
    expect(again).toBe(once);
  });
});
