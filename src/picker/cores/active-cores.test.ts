import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { scorers } from '../../../scorers/index.ts';
import { makeRequest } from '../../../test/makers.ts';
import { catalogueOf } from '../../catalogue/built-in-catalogue.ts';
import { dataSources } from '../../catalogue/data-sources.ts';
import { loadConfig } from '../../config/load.ts';
import type { EndpointId } from '../../framework/endpoint.ts';
import { ConfigError } from '../../framework/error.ts';
import { defineDataSource, defineScorer } from '../../framework/plugin.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import { cycleKey } from '../../framework/scheduling.ts';
import { withoutNetwork } from '../../library/create-picker.ts';
import { chainBlockIds } from '../../openai/prompts/chain-block-ids.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { EndpointPicker } from '../endpoint-picker.ts';
import type { EndpointPickerOptions } from '../endpoint-picker-options.ts';
import type { PickerPlan } from '../plan/picker-plan.ts';

const VERSION = cycleKey<string>('version');

/**
 * A source that makes every request wait until it is released, and a scorer that prefers one slot.
 */
function world() {
  const log: string[] = [];
  const running = new Set<string>();
  const waiting: (() => void)[] = [];
  const gate = defineDataSource({
    type: 'gate-source',
    config: z.strictObject({ version: z.string(), fails: z.boolean().default(false) }),
    provides: () => [VERSION],
    start({ version, fails }) {
      if (fails) throw new Error(`gate ${version} does not open`);
      const run = `${version}#${log.length}`;
      log.push(`start ${version}`);
      running.add(run);
      return {
        facts: [{ key: VERSION, compute: () => version }],
        prepare: (_request, _body, ready) => {
          waiting.push(() => {
            if (!running.has(run)) throw new Error(`${run} was stopped before it was ready`);
            ready();
          });
          return true;
        },
        onRouted: () => void log.push(`${version} routed`),
        onDone: () => void log.push(`${version} done`),
        onEndpointAdded: ({ id }) => void log.push(`${version} + ${id}`),
        stop: () => {
          if (!running.delete(run)) throw new Error(`${run} was stopped twice`);
          log.push(`stop ${version}`);
        },
      };
    },
  });
  const slot = defineScorer({
    type: 'slot-scorer',
    config: z.strictObject({ slot: z.number() }),
    needs: () => [VERSION],
    create: ({ slot: liked }) => ({
      score: (endpoints, context) => {
        log.push(`decided by ${liked} with ${context.get(VERSION)}`);
        return endpoints.map((endpoint) => (endpoint.slot === liked ? 1 : 0));
      },
    }),
  });
  const sources = [...dataSources.map(withoutNetwork), gate];
  const catalogue = catalogueOf([...scorers, slot], sources);
  const plan = (body: string): PickerPlan => {
    const head = 'apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\n';
    return loadConfig({ text: `${head}${body}`, source: 'test', catalogue });
  };
  const gated = (version: string, liked: number): PickerPlan =>
    plan(`dataLayer: { injectDefaults: false }
plugins:
  - { type: gate-source, parameters: { version: ${version} } }
  - { type: slot-scorer, parameters: { slot: ${liked} } }
`);
  const start = (
    first: PickerPlan,
    options: Pick<EndpointPickerOptions, 'checkPlugins'> = {},
  ): EndpointPicker => {
    const network = { get: () => Promise.reject(new Error('none')) };
    const runtime = { clock: new SimulatedClock(), random: seededRandom(1), network };
    const picker = new EndpointPicker({ plan: first, runtime, ...options });
    for (let n = 0; n < 3; n++) {
      const id = `e${n}` as EndpointId;
      picker.pool.upsert({ id, address: `10.0.0.${n}:80`, labels: new Map() });
      const idle = { waitingQueueSize: 0, runningRequests: 0, kvCacheUsage: 0, sampledAt: 0 };
      picker.pool.observe(id, idle);
    }
    log.length = 0;
    return picker;
  };
  const letOne = (): void => waiting.shift()?.();
  return { log, running, waiting, plan, gated, start, letOne };
}

const BODY = [new Uint8Array(1)];

/** Requests in flight at all endpoints. */
const inFlight = ({ pool, ledger }: EndpointPicker): number =>
  pool.snapshot().reduce((sum, endpoint) => sum + ledger.load(endpoint).requests, 0);

describe('adopt', () => {
  it('decides by the new plan from the next request on, and keeps what is in flight', () => {
    const { gated, start } = world();
    const picker = start(gated('one', 0));
    const first = picker.route(makeRequest({ id: 'a' }));
    picker.adopt(gated('two', 2));
    const second = picker.route(makeRequest({ id: 'b' }));
    expect([first.endpoint.id, second.endpoint.id]).toEqual(['e0', 'e2']);
    expect(inFlight(picker)).toBe(2);
    first.done('completed');
    second.done('completed');
    expect(inFlight(picker)).toBe(0);
  });

  it('reports the end of a request to the observers of its beginning, and to no others', () => {
    const { log, gated, start } = world();
    const picker = start(gated('one', 0));
    const routed = picker.route(makeRequest());
    picker.adopt(gated('two', 0));
    log.length = 0;
    routed.done('completed');
    expect(log).toEqual(['one done']);
  });

  it('keeps a plugin with the same name, type and parameters running, and makes the others again', () => {
    const { log, gated, start } = world();
    const picker = start(gated('one', 0));
    picker.adopt(gated('one', 1));
    expect(log).toEqual([]);
    picker.adopt(gated('two', 1));
    // The new plugin knows the pool before the old one is stopped.
    expect(log).toEqual(['start two', 'two + e0', 'two + e1', 'two + e2', 'stop one']);
    picker.stop();
    expect(log.at(-1)).toBe('stop two');
  });

  it('keeps what was learned of prefix caches when only a weight changes', () => {
    const { plan, start } = world();
    const weighed = (weight: number): PickerPlan =>
      plan(`plugins: [{ type: prefix-cache-scorer }, { type: queue-scorer }]
schedulingProfiles:
  - name: default
    plugins: [{ pluginRef: prefix-cache-scorer, weight: ${weight} }, { pluginRef: queue-scorer }]
`);
    const picker = start(weighed(1));
    const ids = Array.from({ length: 20 }, (_, at) => `block ${at}`);
    const prompt = chainBlockIds(ids, { seedText: 'm', blockTokens: 64 });
    const asked = (id: string) => makeRequest({ id, prompt, promptTokens: 64 * 20 });
    const first = picker.route(asked('first'));
    first.done('completed');
    for (let n = 0; n < 20; n++) {
      picker.adopt(weighed(3 + n));
      const again = picker.route(asked(`again ${n}`));
      expect(again.endpoint.id).toBe(first.endpoint.id);
      again.done('completed');
    }
  });

  it('decides a request by the core that prepared for it, and stops that core’s plugins only then', () => {
    const { log, gated, start, letOne } = world();
    const picker = start(gated('one', 0));
    const request = makeRequest();
    const routed: string[] = [];
    const route = (): void => void routed.push(picker.route(request).endpoint.id);
    expect(picker.prepare?.(request, BODY, route)).toBe(true);
    picker.adopt(gated('two', 1));
    picker.adopt(gated('three', 2));
    expect(log).not.toContain('stop one');
    // No request waited for the second.
    expect(log).toContain('stop two');
    letOne();
    expect(routed).toEqual(['e0']);
    expect(log.slice(-3)).toEqual(['decided by 0 with one', 'one routed', 'stop one']);
  });

  it('changes nothing when a plan cannot be run, and stops the sources that had started for it', () => {
    const { log, running, gated, plan, start } = world();
    const picker = start(gated('one', 0));
    const failing = plan(`dataLayer: { injectDefaults: false }
plugins:
  - { type: gate-source, name: good, parameters: { version: good } }
  - { type: gate-source, name: bad, parameters: { version: bad, fails: true } }
  - { type: queue-scorer }
`);
    expect(() => picker.adopt(failing)).toThrow('gate bad does not open');
    expect(log).toEqual(['start good', 'stop good']);
    expect([...running].map((run) => run.split('#')[0])).toEqual(['one']);
    expect(picker.route(makeRequest()).endpoint.id).toBe('e0');
  });

  it('[V222] changes nothing when plugins of a plan are refused, and stops those made for it', () => {
    const { log, running, gated, start } = world();
    let refuses = false;
    const checkPlugins = (): void => {
      if (refuses) throw new ConfigError('test', [{ path: 'plugins', message: 'cannot be used' }]);
    };
    const picker = start(gated('one', 0), { checkPlugins });
    refuses = true;
    expect(() => picker.adopt(gated('two', 1))).toThrow('cannot be used');
    expect(log).toEqual(['start two', 'stop two']);
    expect(() => picker.adopt(gated('one', 1))).toThrow('cannot be used');
    expect([...running].map((run) => run.split('#')[0])).toEqual(['one']);
    expect(picker.route(makeRequest()).endpoint.id).toBe('e0');
  });

  it('refuses two profiles for a handler of one, with a ConfigError', () => {
    const { gated, start } = world();
    const picker = start(gated('one', 0));
    const two = gated('two', 1);
    const [profile] = two.profiles;
    if (profile === undefined) throw new Error('no profile');
    const broken = { ...two, profiles: [profile, { ...profile, name: 'b' }] };
    expect(() => picker.adopt(broken)).toThrow(ConfigError);
    expect(picker.route(makeRequest()).endpoint.id).toBe('e0');
  });

  it('loses no request and stops no plugin too soon or twice, in any order of events', () => {
    const version = fc.constantFrom('one', 'two', 'three');
    const step = fc.oneof(
      fc.record({ kind: fc.constant('adopt' as const), version, slot: fc.nat({ max: 2 }) }),
      fc.record({ kind: fc.constantFrom('ask' as const, 'ready' as const, 'end' as const) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const { running, waiting, gated, start, letOne } = world();
        const picker = start(gated('one', 0));
        const open: { done(outcome: 'completed'): void }[] = [];
        let asked = 0;
        let routed = 0;
        for (const each of steps) {
          if (each.kind === 'adopt') picker.adopt(gated(each.version, each.slot));
          else if (each.kind === 'ready') letOne();
          else if (each.kind === 'end') open.shift()?.done('completed');
          else {
            const request = makeRequest({ id: `r${asked++}` });
            picker.prepare?.(request, BODY, () => {
              open.push(picker.route(request));
              routed += 1;
            });
          }
          expect(inFlight(picker)).toBe(open.length);
        }
        while (waiting.length > 0) letOne();
        expect(routed).toBe(asked);
        expect(running.size).toBe(1);
        for (const each of open) each.done('completed');
        expect(inFlight(picker)).toBe(0);
        picker.stop();
        expect(running.size).toBe(0);
      }),
      { numRuns: 300, seed: 20_261_121 },
    );
  });
});

describe('challenge', () => {
  const takesB = {
    name: 'two.yaml',
    takes: ({ id }: InferenceRequest) => id === 'b',
    onThrown: () => undefined,
  };

  it('gives the challenger the requests that it takes, and lets both observe all requests', () => {
    const { log, gated, start } = world();
    const picker = start(gated('one', 0));
    picker.challenge(gated('two', 2), takesB);
    expect(log).toEqual(['start two', 'two + e0', 'two + e1', 'two + e2']);
    const [first, second] = ['a', 'b'].map((id) => picker.route(makeRequest({ id })));
    expect([first?.endpoint.id, second?.endpoint.id]).toEqual(['e0', 'e2']);
    log.length = 0;
    first?.done('completed');
    second?.done('completed');
    expect(log.toSorted()).toEqual(['one done', 'one done', 'two done', 'two done']);
  });

  it('stops the plugins that only it had, but not before the requests that wait for it', () => {
    const { log, gated, start, letOne } = world();
    const picker = start(gated('one', 0));
    picker.challenge(gated('two', 2), takesB);
    let routedTo: string | undefined;
    const request = makeRequest({ id: 'b' });
    picker.prepare?.(request, BODY, () => {
      routedTo = picker.route(request).endpoint.id;
    });
    picker.withdraw();
    expect(log).not.toContain('stop two');
    letOne();
    expect([routedTo, log.at(-1)]).toEqual(['e2', 'stop two']);
    expect(picker.route(makeRequest({ id: 'b' })).endpoint.id).toBe('e0');
  });

  it('shares plugins that both configure alike with the core in charge', () => {
    const { log, gated, start } = world();
    const picker = start(gated('one', 0));
    picker.challenge(gated('one', 1), takesB);
    picker.withdraw();
    expect(log).toEqual([]);
  });

  it('ends when another plan is adopted', () => {
    const { gated, start, running } = world();
    const picker = start(gated('one', 0));
    picker.challenge(gated('two', 2), takesB);
    picker.adopt(gated('three', 1));
    expect(picker.route(makeRequest({ id: 'b' })).endpoint.id).toBe('e1');
    expect(running.size).toBe(1);
  });

  it('changes nothing when it cannot be made', () => {
    const { plan, gated, start, running } = world();
    const picker = start(gated('one', 0));
    const broken = plan(
      `plugins: [{ type: gate-source, parameters: { version: x, fails: true } }]`,
    );
    expect(() => picker.challenge(broken, takesB)).toThrow('gate x does not open');
    expect([picker.route(makeRequest({ id: 'b' })).endpoint.id, running.size]).toEqual(['e0', 1]);
  });
});
