import { describe, expect, it } from 'vitest';
import { makeContext, makePool, makeRequest } from '../../../test/makers.ts';
import { faultyPicker, planWith, profileOf } from '../../../test/support/plugins/faulty-plugins.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import type { PluginFault } from '../../framework/error.ts';
import type { Declined } from '../../framework/replacement.ts';
import type { Decision } from '../../framework/scheduling.ts';
import { PluginFaults } from '../faults/plugin-faults.ts';
import { replacedScheduler } from './replacement-scheduler.ts';

const CONFIG = `${profileOf('queue-scorer')}scheduler: { type: test-scheduler }\n`;

type Answer = (endpoints: readonly Endpoint[]) => Partial<Decision> | Promise<unknown>;

/** A picker whose module's scheduler picks the first endpoint, and answers what else is given. */
function pickerOf(answer: Answer, onFault: (fault: PluginFault) => void = () => undefined) {
  const schedule = (endpoints: readonly Endpoint[]): Decision => {
    const targets = endpoints.slice(0, 1).map((endpoint) => ({ endpoint, score: 1 }));
    const primary = { kind: 'picked', profile: 'mine', targets } as const;
    const given = answer(endpoints);
    if (given instanceof Promise) return given as never;
    return { primary, profiles: [primary], headers: new Map(), ...given };
  };
  return faultyPicker(CONFIG, { scheduler: { schedule } }, { onFault });
}

function picking(endpoint?: Endpoint, score = 1): Partial<Decision> {
  const targets = endpoint === undefined ? [] : [{ endpoint, score }];
  return { primary: { kind: 'picked', profile: 'mine', targets } };
}

describe('the decision of a scheduler in a module', () => {
  it('[G294] leads the sidecar to the endpoints of other stages, beside its own headers', () => {
    const picker = pickerOf(([, prefill, ...encoders]) => ({
      prefill,
      encoders,
      headers: new Map([['x-tier', 'gold']]),
    }));
    expect([...picker.route(makeRequest()).headers]).toEqual([
      ['x-tier', 'gold'],
      ['x-prefiller-host-port', '10.0.0.1:80'],
      ['x-encoder-hosts-ports', '10.0.0.2:80,10.0.0.3:80'],
    ]);
  });

  it('[G294] has the prompt computed where it decodes if it names that endpoint for both', () => {
    const routed = pickerOf(([prefill]) => ({ prefill })).route(makeRequest());
    expect([...routed.headers]).toEqual([]);
  });

  it.each([
    ['a promise', () => Promise.resolve({}), 'a promise'],
    ['no headers', () => ({ headers: {} as never }), 'lacks headers'],
    ['a header that is no text', () => ({ headers: new Map([['x-a', 5 as never]]) }), 'x-a'],
    ['no endpoint', () => picking(), 'no endpoint'],
    ['no number as a score', ([a]) => picking(a, Number.NaN), 'NaN'],
    ['an endpoint of before', () => picking(makePool([{}])[0]), 'was not offered'],
    ['another prefill', () => ({ prefill: makePool([{}])[0] }), 'was not offered'],
  ] as readonly [string, Answer, string][])(
    '[G296] is reported with the reason where it gives %s, and the profiles decide',
    (_what, answer, why) => {
      const faults: PluginFault[] = [];
      const picker = pickerOf(answer, (fault) => void faults.push(fault));
      picker.route(makeRequest()).done('completed');
      expect(faults).toMatchObject([
        { kind: 'scheduler', name: 'test-scheduler', call: 'schedule', count: 1 },
      ]);
      expect(String(faults[0]?.error)).toContain(why);
      expect(picker.replacement()?.declined.size).toBe(1);
    },
  );

  it('[G295] names its type in reports, and in decisions that it makes, refuses or declines', () => {
    const endpoints = makePool([{}]);
    const primary = { kind: 'exhausted', profile: 'p', candidates: 0 } as const;
    const refusal = { primary, profiles: [], headers: new Map() };
    const parts = { type: 'mine', faults: new PluginFaults() };
    const decide = (answer: Decision | Declined): Decision => {
      const scheduler = { schedule: () => answer };
      const builtIn = { schedule: () => refusal };
      return replacedScheduler(scheduler, builtIn, parts).schedule(endpoints, makeContext());
    };
    const targets = endpoints.map((endpoint) => ({ endpoint, score: 1 }));
    const picked = { ...refusal, primary: { kind: 'picked', profile: 'p', targets } as const };
    expect(decide(picked)).toMatchObject({ decidedBy: 'mine' });
    expect(decide(refusal)).toMatchObject({ primary: { refusedBy: 'mine' } });
    expect(decide({ declined: 'no' })).toMatchObject({
      insteadOf: { scheduler: 'mine', reason: 'no' },
    });
    expect(pickerOf(() => ({})).replacement()).toMatchObject({ name: 'test-scheduler' });
  });

  it('stays the same where a reload changes only how many of its targets are sent', () => {
    const schedule = (endpoints: readonly Endpoint[]): Decision => {
      const targets = endpoints.map((endpoint) => ({ endpoint, score: 1 }));
      const primary = { kind: 'picked', profile: 'mine', targets } as const;
      return { primary, profiles: [primary], headers: new Map() };
    };
    const picker = faultyPicker(CONFIG, { scheduler: { schedule } });
    const sent = (): number => picker.route(makeRequest()).destinations.length;
    expect(sent()).toBe(1);
    const another = { schedule: () => expect.fail('a scheduler was made again') };
    const config = CONFIG.replace('test-scheduler', 'test-scheduler, maxNumOfEndpoints: 3');
    picker.adopt(planWith(config, { scheduler: another }));
    expect([sent(), picker.replacement()?.declined.size]).toEqual([3, 0]);
  });
});
