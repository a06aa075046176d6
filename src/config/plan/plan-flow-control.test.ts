import { describe, expect, test } from 'vitest';
import { SERVING_CATALOGUE } from '../../catalogue/built-in-catalogue.ts';
import type { BandPlan } from '../../flow/control/flow-control-plan.ts';
import type { PickerPlan } from '../../picker/plan/picker-plan.ts';
import { servingPlan } from '../../serve/picker/serving-plan.ts';
import { loadConfig } from '../load.ts';

const HEAD = 'apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\n';
const GATE = 'featureGates: [flowControl]\n';

function load(text: string): PickerPlan {
  return loadConfig({ text: HEAD + text, source: 'test', catalogue: SERVING_CATALOGUE });
}

const planOf = (section: string, plugins = '') =>
  load(`${GATE}${plugins && `plugins: [${plugins}]\n`}flowControl: ${section}`).flowControl;

const limitsOf = (band: BandPlan | undefined) =>
  band && [band.maxRequests, band.maxBytes, band.requestTtlMs];

describe('flowControl', () => {
  test('[Q62] has the defaults of the reference picker', () => {
    for (const plan of [planOf('{}'), load(GATE).flowControl]) {
      expect(plan).toMatchObject({
        maxBytes: Number.POSITIVE_INFINITY,
        maxRequests: Number.POSITIVE_INFINITY,
        requestTtlMs: 60_000,
        noEndpointTtlMs: 60_000,
        evicts: false,
        detector: { type: 'utilization-detector' },
        usageLimit: { type: 'static-usage-limit-policy', config: { threshold: 1 } },
      });
      expect(limitsOf(plan?.defaultBand)).toEqual([5000, 1_000_000_000, undefined]);
      expect(plan?.defaultBand.ordering.type).toBe('fcfs-ordering-policy');
      expect(plan?.negativeBand.fairness.type).toBe('global-strict-fairness-policy');
    }
  });

  test('[D422] an empty name is none, and quantities may be as small as in Kubernetes', () => {
    const empty = `{saturationDetector: {pluginRef: ""}, usageLimitPolicyPluginRef: "",
      maxBytes: 100n, maxRequests: " 5 ",
      priorityBands: [{priority: 1, orderingPolicyRef: "", fairnessPolicyRef: ""}]}`;
    const given = '{maxBytes: 1, maxRequests: 5, priorityBands: [{priority: 1}]}';
    expect(JSON.stringify(planOf(empty))).toEqual(JSON.stringify(planOf(given)));
  });

  test('[D609] what is above 64 bits with a unit or an exponent is as good as no bound', () => {
    for (const large of ['10Ei', '"1e19"', '9223372036854775807', '9.3E']) {
      expect(planOf(`{maxBytes: ${large}}`)?.maxBytes).toBeGreaterThan(9.2e18);
    }
  });

  test('[D555] a priority of null is 0, as Go reads it', () => {
    for (const priority of ['null', '~', '']) {
      const plan = planOf(`{priorityBands: [{priority: ${priority}, maxRequests: 7}]}`);
      expect([...(plan?.bands.keys() ?? [])]).toEqual([0]);
      const template = `{defaultPriorityBand: {priority: ${priority}, maxRequests: 7}}`;
      expect(limitsOf(planOf(template)?.defaultBand)).toEqual([7, 1e9, undefined]);
    }
  });

  test('[Q62] reads all its fields, with quantities and durations as in Kubernetes', () => {
    const plan = planOf(
      `{maxBytes: 10Gi, maxRequests: 1k, defaultRequestTTL: 5s, enableEviction: true,
        defaultPriorityBand: {maxRequests: 7}, defaultNegativePriorityBand: {maxBytes: 2M},
        priorityBands: [{priority: 100, maxRequests: "500", defaultRequestTTL: 0s,
        fairnessPolicyRef: fair, orderingPolicyRef: edf-ordering-policy}],
        usageLimitPolicyPluginRef: held, saturationDetector: {pluginRef: counted}}`,
      `{type: round-robin-fairness-policy, name: fair}, {type: edf-ordering-policy},
       {type: priority-holdback-policy, name: held, parameters: {minCeiling: 0.5}},
       {type: concurrency-detector, name: counted, parameters: {maxConcurrency: 132}}`,
    );
    expect(plan).toMatchObject({ maxBytes: 10 * 2 ** 30, maxRequests: 1000, evicts: true });
    expect([plan?.requestTtlMs, plan?.noEndpointTtlMs]).toEqual([5000, 5000]);
    expect(limitsOf(plan?.bands.get(100))).toEqual([500, 1e9, Number.POSITIVE_INFINITY]);
    expect(plan?.bands.get(100)?.fairness).toMatchObject({ name: 'fair' });
    expect(limitsOf(plan?.defaultBand)).toEqual([7, 1e9, undefined]);
    expect(limitsOf(plan?.negativeBand)).toEqual([5000, 2_000_000, undefined]);
    expect(plan?.detector.config).toMatchObject({ maxConcurrency: 132 });
    expect(planOf('{defaultRequestTTL: 0s, noEndpointRequestTTL: 5m}')).toMatchObject({
      requestTtlMs: Number.POSITIVE_INFINITY,
      noEndpointTtlMs: 300_000,
    });
  });

  test.each([
    ['{maxBytes: ""}', 'flowControl.maxBytes: must be a quantity'],
    ['{maxBytes: 10Gb}', 'flowControl.maxBytes: must be a quantity'],
    ['{maxRequests: -1}', 'flowControl.maxRequests: must be a quantity'],
    ['{maxBytes: 9223372036854775808}', 'flowControl.maxBytes: must be below 2^63'],
    ['{maxBytes: "9223372036854775808"}', 'flowControl.maxBytes: must be below 2^63'],
    ['{maxRequests: 1e19}', 'flowControl.maxRequests: must be below 2^63'],
    ['{defaultRequestTTL: 5 s}', 'flowControl.defaultRequestTTL: must be a duration'],
    ['{defaultRequestTTL: 60}', 'flowControl.defaultRequestTTL: must be a duration with its unit'],
    ['{priorityBands: [{priority: 1, defaultRequestTTL: 60}]}', 'must be a duration with its unit'],
    ['{maxRequest: 5}', 'flowControl.maxRequest: is not a known field (did you mean maxRequests?)'],
    [
      '{priorityBands: [{priority: 1}, {priority: 1}]}',
      'flowControl.priorityBands[1].priority: two bands have the priority 1',
    ],
    [
      '{priorityBands: [{priority: 1, fairnessPolicyRef: round-robin}]}',
      'flowControl.priorityBands[0].fairnessPolicyRef: round-robin is not the name of a plugin',
    ],
    [
      '{defaultPriorityBand: {orderingPolicyRef: fair}}',
      'flowControl.defaultPriorityBand.orderingPolicyRef: fair is not an ordering policy; its type is round-robin-fairness-policy',
    ],
    [
      '{usageLimitPolicyPluginRef: counted}',
      'flowControl.usageLimitPolicyPluginRef: counted is a filter, not a usage limit policy',
    ],
    [
      '{saturationDetector: {pluginRef: fair}}',
      'flowControl.saturationDetector.pluginRef: fair is a round-robin-fairness-policy, not a saturation detector',
    ],
    [
      '{saturationDetector: {pluginRef: max}}',
      'plugins[2].parameters.detectors[1]: max combines itself',
    ],
  ])('[D415] [Q63] refuses %s', (section, message) => {
    const plugins = `{type: round-robin-fairness-policy, name: fair},
      {type: concurrency-detector, name: counted},
      {type: max-saturation-detector, name: max, parameters: {detectors: [counted, max]}}`;
    expect(() => planOf(section, plugins)).toThrow(message);
  });

  test.each([
    ['priority-holdback-policy', '{}', 'minCeiling: is missing'],
    ['priority-holdback-policy', '{minCeiling: 1}', 'minCeiling: must be less than 1'],
    [
      'priority-holdback-policy',
      '{minCeiling: 0.9, maxCeiling: 0.5}',
      'must be at most maxCeiling',
    ],
    [
      'priority-holdback-policy',
      '{domain: explicit, ceilings: {"1": 0.5, "2": 0.4}}',
      'must not fall',
    ],
    ['program-aware-fairness', '{strategy: drr}', 'strategy: must be one of '],
    ['soft-reflective-ceiling-policy', '{ceiling: 1}', 'ceiling: is not a known field'],
    [
      'max-saturation-detector',
      '{detectors: [a], stages: {b: [decode]}}',
      'must name only entries',
    ],
    ['max-saturation-detector', '{detectors: [a, a]}', 'must name each detector once'],
    ['weighted-fair-queueing-policy', '{weights: {a: 0}}', 'weights.a: must be more than 0'],
  ])('[Q63] refuses %s with %s', (type, parameters, message) => {
    expect(() => load(`plugins: [{type: ${type}, parameters: ${parameters}}]`)).toThrow(message);
  });

  test('[Q62] is written so that it gives itself again', () => {
    const { effective, flowControl } = load(
      `${GATE}flowControl: {maxBytes: 1k, defaultRequestTTL: 1m30s, saturationDetector: {pluginRef: counted}}
plugins: [{type: concurrency-detector, name: counted}]`,
    );
    const again = loadConfig({
      text: JSON.stringify(effective),
      source: 'effective',
      catalogue: SERVING_CATALOGUE,
    });
    expect(again.flowControl).toEqual(flowControl);
    expect(again.effective).toEqual(effective);
  });
});

describe('without the feature gate', () => {
  test('[Q64] the detector that sheds is that of flowControl, the deprecated one, or the default', () => {
    const plugins = 'plugins: [{type: concurrency-detector}]\n';
    const ref = '{pluginRef: concurrency-detector}';
    const type = (text: string) => load(plugins + text).shedding?.type;
    expect(servingPlan(load(plugins)).shedding?.type).toBe('utilization-detector');
    expect(servingPlan(load(GATE)).shedding).toBeUndefined();
    expect(type('')).toBeUndefined();
    expect(type(`saturationDetector: ${ref}`)).toBe('concurrency-detector');
    expect(type(`flowControl: {saturationDetector: ${ref}}`)).toBe('concurrency-detector');
    expect(() => load('saturationDetector: {pluginRef: none}')).toThrow(
      'saturationDetector.pluginRef: none is not the name of a plugin',
    );
  });
});
