import { expect, it } from 'vitest';
import { EMBEDDED_CATALOGUE } from '../../src/catalogue/built-in-catalogue.ts';
import { RoutingError } from '../../src/framework/error.ts';
import { createPickerFrom } from '../../src/library/create-picker.ts';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { codeBlock } from '../docs/doc-code.ts';

/** The configuration in docs/disaggregation.md. */
const documented = codeBlock('docs/disaggregation.md', 'yaml', 'role-minimum-filter');
const REF = '{ pluginRef: role-minimum-filter }';
const refusing = documented
  .replace(`      - ${REF}\n`, '')
  .replace('[{ pluginRef: decode-filter },', `[{ pluginRef: decode-filter }, ${REF},`);

function pickerOf(config: string) {
  const picker = createPickerFrom(EMBEDDED_CATALOGUE, {
    config,
    seed: 1,
    clock: new SimulatedClock(),
  });
  const add = (id: string, role: string): void => {
    picker.addEndpoint({ id, labels: { 'llm-d.ai/role': role } });
    picker.setMetrics(id, { waitingQueueSize: 0, runningRequests: 0, kvCacheUsage: 0 });
  };
  add('decoder:1', 'decode');
  add('prefiller:1', 'prefill');
  add('prefiller:2', 'prefill');
  const prefilled = (): boolean => {
    const routed = picker.route({ model: 'm', promptTokens: 5000 });
    routed.done('completed');
    expect(routed.endpoint.id).toBe('decoder:1');
    return routed.headers.has('x-prefiller-host-port');
  };
  return { picker, add, prefilled };
}

it('only decodes while too few servers can prefill, if the prefill profile has the minimum', () => {
  const { picker, add, prefilled } = pickerOf(documented);
  expect(prefilled()).toBe(true);
  picker.removeEndpoint('prefiller:2');
  expect(prefilled()).toBe(false);
  add('prefiller:3', 'prefill');
  expect(prefilled()).toBe(true);
  picker.stop();
});

it('refuses requests while too few servers can prefill, if the decode profile has the minimum', () => {
  expect(refusing).not.toBe(documented);
  const { picker, add, prefilled } = pickerOf(refusing);
  expect(prefilled()).toBe(true);
  picker.removeEndpoint('prefiller:2');
  expect(() => prefilled()).toThrow(RoutingError);
  add('prefiller:2', 'prefill');
  expect(prefilled()).toBe(true);
  picker.stop();
});
