import { describe, expect, it } from 'vitest';
import { EMBEDDED_CATALOGUE } from '../../catalogue/built-in-catalogue.ts';
import { createPickerFrom, type EmbeddedPicker } from '../../library/create-picker.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';

const HEAD = 'apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\n';
const DECIDER = `${HEAD}plugins:
- {type: prefix-cache-scorer}
- {type: prefix-based-pd-decider, parameters: {nonCachedTokens: 200}}
- {type: disagg-profile-handler, parameters: {deciders: {prefill: prefix-based-pd-decider}}}
- {type: decode-filter}
- {type: prefill-filter}
schedulingProfiles:
- {name: decode, plugins: [{pluginRef: decode-filter}, {pluginRef: prefix-cache-scorer}]}
- {name: prefill, plugins: [{pluginRef: prefill-filter}]}
`;

function pickerWith(config: string): EmbeddedPicker {
  const clock = new SimulatedClock();
  const picker = createPickerFrom(EMBEDDED_CATALOGUE, { config, seed: 1, clock });
  for (const id of ['a', 'b']) {
    picker.addEndpoint({ id, labels: { 'llm-d.ai/role': 'decode' } });
    picker.setMetrics(id, { waitingQueueSize: 0, runningRequests: 0, kvCacheUsage: 0 });
  }
  return picker;
}

const blocks = (count: number): number[] => Array.from({ length: count }, (_, at) => at);
const ask = (count: number, prefer?: string) => ({
  model: 'm',
  promptTokens: 64 * count,
  blockIds: blocks(count),
  ...(prefer !== undefined && { headers: { prefer } }),
});

describe('Prefer: if-available', () => {
  it('[D41] is served where the prompt is held, and refused where it is not', () => {
    const picker = pickerWith('reference-default');
    expect(() => picker.route(ask(4, 'if-available'))).toThrow('[not-cached]');
    const first = picker.route(ask(4));
    first.done('completed');
    expect(picker.route(ask(6, 'if-available')).endpoint.id).toBe(first.endpoint.id);
  });

  it.each(['if-available', 'respond-async, IF-Available; x=1', ' if-available ;a'])(
    '[D41] is read in %j',
    (prefer) => {
      expect(() => pickerWith('reference-default').route(ask(4, prefer))).toThrow('[not-cached]');
    },
  );

  it.each(['', 'if-available-now', 'respond-async', 'x=if-available'])(
    '[D41] is not read in %j',
    (prefer) => {
      expect(() => pickerWith('reference-default').route(ask(4, prefer))).not.toThrow();
    },
  );

  it('[D41] goes by the threshold of a prefix-based-pd-decider', () => {
    const picker = pickerWith(DECIDER);
    expect(() => picker.route(ask(4, 'if-available'))).toThrow('[not-cached]');
    expect(() => picker.route(ask(3, 'if-available'))).not.toThrow();
    picker.route(ask(4)).done('completed');
    expect(() => picker.route(ask(7, 'if-available'))).not.toThrow();
    expect(() => picker.route(ask(30, 'if-available'))).toThrow('[not-cached]');
  });
});

describe('the endpoints that a request was chosen from', () => {
  it('[D40] are known with their scores, also those that were not picked', () => {
    const routed = pickerWith('reference-default').route(ask(4), { scoresWanted: true });
    const scored = routed.scored ?? [];
    expect(scored.map(({ endpoint }) => endpoint.id).sort()).toEqual(['a', 'b']);
    expect(scored.every(({ score }) => score >= 0)).toBe(true);
  });

  it('[D224] are not kept with the request where nothing asks for them', () => {
    const routed = pickerWith('reference-default').route(ask(4));
    expect(routed.scored?.map(({ endpoint }) => endpoint)).toEqual([routed.endpoint]);
  });
});
