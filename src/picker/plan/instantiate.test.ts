import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { makeContext, makePool, makeRuntime } from '../../../test/makers.ts';
import { catalogueOf } from '../../catalogue/built-in-catalogue.ts';
import { loadConfig } from '../../config/load.ts';
import { IN_FLIGHT } from '../../framework/cycle-facts.ts';
import {
  type DataSourceDefinition,
  defineDataSource,
  defineScorer,
  type EndpointWriter,
} from '../../framework/plugin.ts';
import { cycleKey } from '../../framework/scheduling.ts';
import { createScheduler } from '../scheduling/schedule.ts';
import { instantiate } from './instantiate.ts';
import type { PickerPlan } from './picker-plan.ts';

const TIDE = cycleKey<number>('tide');
const pool: EndpointWriter = { snapshot: () => [], observe: () => undefined, set: () => undefined };
const inFlight = { key: IN_FLIGHT, compute: () => ({ load: () => ({}) }) };

/** A scorer that prefers later slots, and records when it is made. */
function lastSlotFirst(made: string[]): ReturnType<typeof defineScorer> {
  return defineScorer({
    type: 'last-slot-scorer',
    config: z.strictObject({}),
    create() {
      made.push('scorer');
      return { score: (endpoints) => endpoints.map(({ slot }) => slot / 10) };
    },
  });
}

function tideSource(log: string[]): DataSourceDefinition {
  return defineDataSource({
    type: 'tide-source',
    config: z.strictObject({}),
    provides: () => [TIDE],
    start(_config, { name }) {
      log.push(`start ${name}`);
      return {
        facts: [{ key: TIDE, compute: () => 7 }],
        stop: () => void log.push(`stop ${name}`),
      };
    },
  });
}

function planOf(log: string[], body: string): PickerPlan {
  return loadConfig({
    text: `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
dataLayer: {injectDefaults: false}
${body}`,
    source: 'test',
    catalogue: catalogueOf([lastSlotFirst(log)], [tideSource(log)]),
  });
}

describe('instantiate', () => {
  it('makes a plugin once, then starts the sources, and stops them', () => {
    const log: string[] = [];
    const plan = planOf(log, 'plugins: [{type: tide-source}, {type: last-slot-scorer}]\n');
    const parts = instantiate(plan, { pool, runtime: makeRuntime(), coreFacts: [inFlight] });
    expect(log).toEqual(['scorer', 'start tide-source']);
    expect([...parts.facts.keys()]).toEqual([IN_FLIGHT.name, TIDE.name]);
    for (const part of parts.observers) part.stop?.();
    expect(log).toEqual(['scorer', 'start tide-source', 'stop tide-source']);
  });

  it('gives one instance to every profile that names it', () => {
    const log: string[] = [];
    const plan = planOf(log, 'plugins: [{type: last-slot-scorer}]\n');
    const [profile] = plan.profiles;
    const twice = {
      ...plan,
      profiles: profile === undefined ? [] : [profile, { ...profile, name: 'b' }],
    };
    const seen: unknown[] = [];
    expect(() =>
      instantiate(twice, {
        pool,
        runtime: makeRuntime(),
        coreFacts: [],
        wrap: {
          filter: (_plugin, filter) => filter,
          scorer: (_plugin, scorer) => {
            seen.push(scorer);
            return scorer;
          },
          picker: (_plugin, picker) => picker,
        },
      }),
    ).toThrow('runs exactly one profile, got 2');
    expect(log).toEqual(['scorer']);
    expect(seen).toHaveLength(2);
    expect(seen[0]).toBe(seen[1]);
  });

  it('picks with what it made', () => {
    const plan = planOf([], 'plugins: [{type: last-slot-scorer}]\n');
    const { handler } = instantiate(plan, { pool, runtime: makeRuntime(), coreFacts: [] });
    const { primary } = createScheduler(handler).schedule(makePool([{}, {}, {}]), makeContext());
    expect(primary.kind === 'picked' && primary.targets[0]?.endpoint.id).toBe('pod-2');
  });

  it('wraps each plugin where it is used, by its name and type', () => {
    const plan = planOf([], 'plugins: [{type: last-slot-scorer, name: mine}]\n');
    const calls: string[] = [];
    const { handler } = instantiate(plan, {
      pool,
      runtime: makeRuntime(),
      coreFacts: [],
      wrap: {
        filter: (_plugin, filter) => filter,
        scorer: ({ name, definition }, scorer) => ({
          score: (endpoints, context) => {
            calls.push(`${name} is a ${definition.type}`);
            return scorer.score(endpoints, context);
          },
        }),
        picker: (_plugin, picker) => picker,
      },
    });
    createScheduler(handler).schedule(makePool([{}]), makeContext());
    expect(calls).toEqual(['mine is a last-slot-scorer']);
  });

  it('filters by the filters of a profile and by its scorers that are filters, too', () => {
    const filtering = defineScorer({
      type: 'no-first-scorer',
      config: z.strictObject({}),
      create: () => ({
        score: (endpoints) => endpoints.map(() => 0.5),
        filter: (endpoints) => endpoints.filter(({ slot }) => slot > 0),
      }),
    });
    const plan = loadConfig({
      text: `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
dataLayer: {injectDefaults: false}
plugins: [{type: by-label, parameters: {label: zone, validValues: [a]}}, {type: no-first-scorer}]
`,
      source: 'test',
      catalogue: catalogueOf([filtering], []),
    });
    const wrapped: string[] = [];
    const { handler } = instantiate(plan, {
      pool,
      runtime: makeRuntime(),
      coreFacts: [],
      wrap: {
        filter: ({ name }, filter) => {
          wrapped.push(name);
          return filter;
        },
        scorer: (_plugin, scorer) => scorer,
        picker: (_plugin, picker) => picker,
      },
    });
    expect(wrapped).toEqual(['by-label', 'no-first-scorer']);
    const zones = ['a', 'b', 'a'].map((zone) => ({ labels: { zone } }));
    const { primary } = createScheduler(handler).schedule(makePool(zones), makeContext());
    const kept = primary.run?.kept.map((left) => left.map(({ slot }) => slot));
    expect(kept).toEqual([[0, 2], [2]]);
  });
});
