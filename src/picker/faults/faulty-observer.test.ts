import { describe, expect, it } from 'vitest';
import { makeRequest } from '../../../test/makers.ts';
import {
  allInFlight,
  faultyPicker,
  planWith,
  profileOf,
} from '../../../test/support/plugins/faulty-plugins.ts';
import type { EndpointId } from '../../framework/endpoint.ts';
import type { PluginFault } from '../../framework/error.ts';
import type { Observer } from '../../framework/observer.ts';
import { NO_BLOCKS } from '../../framework/request.ts';
import type { RoutedRequest } from '../../framework/routing.ts';
import type { Runtime } from '../../framework/runtime.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import type { JournalSubscriber } from '../events/journal.ts';

const boom = (): never => {
  throw new Error('broken on purpose');
};
/** Every call of an observer fails. */
const BROKEN: JournalSubscriber & Observer = {
  onDecision: boom,
  onRouted: boom,
  onServed: boom,
  onBodyRead: boom,
  onFirstToken: boom,
  onAnswered: boom,
  onEnded: boom,
  onDone: boom,
  onTimer: boom,
  onAdopted: boom,
  onPrepared: boom,
  onEndpointAdded: boom,
  onEndpointRemoved: boom,
  onEndpointChanged: boom,
  responseHeaders: boom,
};
const BODY = profileOf('test-scorer', 'max-score-picker');
const NOTHING = { requests: 0, pendingPrefillTokens: 0, contextTokens: 0 };

function simulated(): { clock: SimulatedClock; runtime: Runtime } {
  const clock = new SimulatedClock();
  const network = { get: () => Promise.reject(new Error('no network')) };
  return { clock, runtime: { clock, random: seededRandom(1), network } };
}

/** A picker whose first subscriber and whose only scorer fail, and a log of those that do not. */
function brokenPicker() {
  const faults: PluginFault[] = [];
  const log: string[] = [];
  const last: JournalSubscriber = {
    onDecision: () => void log.push('decision'),
    onRouted: () => void log.push('routed'),
    onFirstToken: () => void log.push('first token'),
    onDone: (_routed, _at, outcome) => void log.push(outcome),
    onEndpointRemoved: ({ id }) => void log.push(`- ${id}`),
  };
  const { clock, runtime } = simulated();
  const scorer = { ...BROKEN, score: (endpoints: readonly unknown[]) => endpoints.map(() => 1) };
  const picker = faultyPicker(
    BODY,
    { scorer },
    {
      runtime,
      subscribers: [BROKEN, last],
      onFault: (fault) => faults.push(fault),
    },
  );
  return { picker, clock, log, faults };
}

function live(routed: RoutedRequest): void {
  routed.bodyRead(makeRequest());
  routed.served('10.0.0.3:80');
  routed.firstToken();
  routed.responseHeaders();
  routed.answered(NO_BLOCKS);
  routed.done('completed');
  routed.done('failed');
}

describe('an observer that throws', () => {
  it('[V35] has no effect on a request, its reservation and the other observers', () => {
    const { picker, log, faults } = brokenPicker();
    const routed = picker.route(makeRequest(), { firstTokenVisible: true });
    expect(allInFlight(picker).requests).toBe(1);
    live(routed);
    expect(log).toEqual(['decision', 'routed', 'first token', 'completed']);
    expect(allInFlight(picker)).toEqual(NOTHING);
    const calls = ['onRouted', 'onBodyRead', 'onFirstToken', 'onAnswered', 'onDone'];
    for (const call of calls) {
      expect(faults.filter((fault) => fault.call === call).map(({ kind }) => kind)).toEqual([
        'subscriber',
        'scorer',
      ]);
    }
    picker.pool.remove('e0' as EndpointId);
    expect(log.at(-1)).toBe('- e0');
  });

  it('[V35] has no effect where the end of the response is predicted by a timer', () => {
    const { picker, clock, log } = brokenPicker();
    picker.route(makeRequest(), { endVisible: false }).done('completed');
    expect(allInFlight(picker).requests).toBe(1);
    while (clock.step()) continue;
    expect(allInFlight(picker)).toEqual(NOTHING);
    expect(log).toEqual(['decision', 'routed', 'completed']);
  });

  it('[V35] does not make a canary decide a request twice', () => {
    const { picker, log } = brokenPicker();
    const plan = planWith(BODY);
    const thrown: unknown[] = [];
    picker.challenge(plan, {
      name: 'canary',
      takes: () => true,
      onThrown: (_request, error) => thrown.push(error),
    });
    live(picker.route(makeRequest()));
    expect([log, thrown]).toEqual([['decision', 'routed', 'first token', 'completed'], []]);
    expect(allInFlight(picker)).toEqual(NOTHING);
  });

  it('[V35] lets the plan in charge decide once what a challenger fails on', () => {
    const { picker, log } = brokenPicker();
    const plan = planWith(profileOf('test-filter'), { filter: { filter: boom } });
    picker.challenge(plan, { name: 'canary', takes: () => true, onThrown: boom });
    const routed = picker.route(makeRequest());
    expect(allInFlight(picker).requests).toBe(1);
    live(routed);
    expect(log).toEqual(['decision', 'decision', 'routed', 'first token', 'completed']);
    expect(allInFlight(picker)).toEqual(NOTHING);
  });

  it('[V36] in a timer of a plugin is counted under the name of the plugin', () => {
    const faults: PluginFault[] = [];
    const { clock, runtime } = simulated();
    const body = `plugins: [{ type: test-source }, { type: queue-scorer }]
schedulingProfiles: [{ name: default, plugins: [{ pluginRef: queue-scorer }] }]
`;
    const source = ({ clock: own }: Runtime) => {
      own.setTimer(5, boom);
      return { onRouted: () => void own.setTimer(7, boom), stop: () => undefined };
    };
    const picker = faultyPicker(
      body,
      { source },
      { runtime, onFault: (each) => faults.push(each) },
    );
    picker.route(makeRequest());
    while (clock.step()) continue;
    expect(faults).toMatchObject([{ kind: 'source', name: 'test-source', call: 'timer' }]);
    expect(picker.faults.counts()).toMatchObject([{ count: 2 }]);
  });

  it('[V36] keeps count of a bounded number of calls, however many configurations follow', () => {
    const { picker } = brokenPicker();
    for (let n = 0; n < 2000; n++) {
      const part = {};
      picker.faults.identify(part, { kind: 'scorer', name: `scorer-${n}` });
      picker.faults.report(part, 'score', new Error('no'));
    }
    expect(picker.faults.counts().length).toBeLessThanOrEqual(1001);
    expect(picker.faults.counts().at(-1)?.name).toBe('other');
  });
});
