import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { makeRequest } from '../../../test/makers.ts';
import { faultyPicker, profileOf } from '../../../test/support/plugins/faulty-plugins.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { PluginFaults } from '../faults/plugin-faults.ts';
import { PREPARATION_MS_MAX, type Preparation, waitForAll } from './preparation.ts';

/** How a plugin behaves: what it returns, how often it calls `done` before and after. */
interface Behaviour {
  readonly waits: boolean;
  readonly before: number;
  readonly after: number;
  readonly throws: boolean;
}

const behaviour: fc.Arbitrary<Behaviour> = fc.record({
  waits: fc.boolean(),
  before: fc.integer({ min: 0, max: 2 }),
  after: fc.integer({ min: 0, max: 2 }),
  throws: fc.boolean(),
});

describe('preparing for a decision', () => {
  it('[V34] says ready at most once and never before it has returned, whatever plugins do', () => {
    fc.assert(
      fc.property(fc.array(behaviour, { maxLength: 4 }), fc.boolean(), (behaviours, reversed) => {
        const later: (() => void)[] = [];
        let readyCalls = 0;
        const preparations: readonly Preparation[] = behaviours.map((each) => ({
          part: {},
          begin: (done) => {
            for (let call = 0; call < each.before; call++) done();
            for (let call = 0; call < each.after; call++) later.push(done);
            if (each.throws) throw new Error('broken on purpose');
            return each.waits;
          },
        }));
        const clock = new SimulatedClock();
        const parts = { faults: new PluginFaults(), clock };
        const waits = waitForAll(preparations, () => (readyCalls += 1), parts);
        expect(readyCalls).toBe(0);
        const waitedFor = behaviours.filter(
          ({ waits: asks, before, throws }) => asks && before === 0 && !throws,
        );
        expect(waits).toBe(waitedFor.length > 0);
        for (const done of reversed ? later.toReversed() : later) done();
        const allCome = waitedFor.every(({ after }) => after > 0);
        expect(readyCalls).toBe(waits && allCome ? 1 : 0);
        clock.advanceTo(PREPARATION_MS_MAX);
        expect(readyCalls).toBe(waits ? 1 : 0);
      }),
      { seed: 17, numRuns: 2000 },
    );
  });

  it('[V34] is not waited for where one source ends the wait of another while it begins', () => {
    let first: () => void = () => undefined;
    const waits = waitForAll(
      [
        {
          part: {},
          begin: (done) => {
            first = done;
            return true;
          },
        },
        {
          part: {},
          begin: () => {
            first();
            return false;
          },
        },
      ],
      () => expect.fail('ready was called'),
      { faults: new PluginFaults(), clock: new SimulatedClock() },
    );
    expect(waits).toBe(false);
  });

  it('[V34] waits no longer than a minute for a plugin that never says ready, and names it', () => {
    const clock = new SimulatedClock();
    const faults = new PluginFaults();
    const part = {};
    faults.identify(part, { kind: 'source', name: 'silent' });
    let readyCalls = 0;
    const preparations = [{ part, begin: () => true }];
    expect(waitForAll(preparations, () => (readyCalls += 1), { faults, clock })).toBe(true);
    clock.advanceTo(PREPARATION_MS_MAX - 1);
    expect([readyCalls, faults.counts()]).toEqual([0, []]);
    clock.advanceTo(PREPARATION_MS_MAX);
    expect(readyCalls).toBe(1);
    expect(faults.counts()).toMatchObject([{ name: 'silent', call: 'prepare', count: 1 }]);
  });

  it('[V554] takes what came while the process stood still for in time', () => {
    const clock = new SimulatedClock();
    const faults = new PluginFaults();
    let readyCalls = 0;
    let done: () => void = () => undefined;
    const begin = (ready: () => void): boolean => {
      done = ready;
      return true;
    };
    waitForAll([{ part: {}, begin }], () => (readyCalls += 1), { faults, clock });
    // It is read in the turn after that of the timers.
    clock.setTimer(PREPARATION_MS_MAX, () => done());
    clock.advanceTo(2 * PREPARATION_MS_MAX);
    expect([readyCalls, faults.counts()]).toEqual([1, []]);
  });

  it('[V34] counts a plugin that throws as nothing to wait for, and names it', () => {
    const scheduler = {
      prepare: () => {
        throw new Error('broken on purpose');
      },
      schedule: () => ({ declined: 'none' }),
    };
    const body = `${profileOf('queue-scorer')}scheduler: { type: test-scheduler }\n`;
    const picker = faultyPicker(body, { scheduler });
    const request = makeRequest();
    expect(picker.prepare?.(request, [], () => expect.fail('ready was called'))).toBe(false);
    expect(picker.faults.counts()).toMatchObject([{ kind: 'scheduler', call: 'prepare' }]);
    picker.route(request).done('completed');
  });
});
