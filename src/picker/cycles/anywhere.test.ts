import { expect, it, vi } from 'vitest';
import { makeRequest, makeRuntime } from '../../../test/makers.ts';
import { EMBEDDED_CATALOGUE } from '../../catalogue/built-in-catalogue.ts';
import { loadConfig } from '../../config/load.ts';
import type { EndpointId } from '../../framework/endpoint.ts';
import type { RouteOptions } from '../../framework/routing.ts';
import { EndpointPicker } from '../endpoint-picker.ts';
import type { JournalSubscriber } from '../events/journal.ts';

const PODS = ['a', 'b', 'c'];
/** No endpoint passes the filter, and each has room for one request. */
const CONFIG = `
apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
- {type: label-selector-filter, parameters: {matchLabels: {no: endpoint}}}
- {type: queue-scorer}
capacity: {maxConcurrency: 1}
`;

function setUp(subscriber: JournalSubscriber = {}, pods: readonly string[] = PODS): EndpointPicker {
  const subscribers = [subscriber];
  const picker = new EndpointPicker({
    plan: loadConfig({ text: CONFIG, source: 'test', catalogue: EMBEDDED_CATALOGUE }),
    runtime: makeRuntime(),
    subscribers,
  });
  for (const pod of pods) {
    picker.pool.upsert({ id: pod as EndpointId, address: `${pod}:8000`, labels: new Map() });
  }
  return picker;
}

function counted(picker: EndpointPicker, options: RouteOptions): readonly number[] {
  const sent = new Map(PODS.map((pod) => [`${pod}:8000`, 0]));
  for (let n = 0; n < 300; n++) {
    const { destinations } = picker.route(makeRequest({ id: `r${n}` }), options);
    sent.set(destinations.join(), (sent.get(destinations.join()) ?? 0) + 1);
  }
  return [...sent.values()];
}

it('[D360] reaches every endpoint about as often, whatever filters and limits say, and reserves nothing', () => {
  const decided = vi.fn();
  const picker = setUp({ onDecision: decided, onRouted: decided });
  for (const count of counted(picker, { anywhere: true })) expect(count).toBeGreaterThan(70);
  const inFlight = picker.pool.snapshot().map((each) => picker.ledger.load(each).requests);
  expect(inFlight).toEqual([0, 0, 0]);
  expect(decided).not.toHaveBeenCalled();
});

it('[D360] keeps to the subset, and leaves out an endpoint that is ejected while others are there', () => {
  const picker = setUp();
  const subset = ['a', 'b'];
  expect(counted(picker, { anywhere: true, subset })[2]).toBe(0);
  const [first] = picker.pool.snapshot();
  vi.spyOn(picker.ejector, 'remaining').mockImplementation((all) =>
    all.length > 1 ? all.filter((each) => each !== first) : all,
  );
  expect(counted(picker, { anywhere: true })[0]).toBe(0);
  expect(counted(picker, { anywhere: true, subset: ['a'] })).toEqual([300, 0, 0]);
});

it('[D360] refuses with 503’s error where the pool or the subset has no endpoint', () => {
  const route = (picker: EndpointPicker, subset?: readonly string[]) => (): unknown =>
    picker.route(makeRequest(), { anywhere: true, subset });
  expect(route(setUp({}, []))).toThrow(/the pool has no endpoint/);
  expect(route(setUp(), ['d'])).toThrow(/none of the pool's 3 endpoints is in the subset/);
});
