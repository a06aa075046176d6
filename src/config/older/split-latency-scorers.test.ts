import { describe, expect, test } from 'vitest';
import { SERVING_CATALOGUE } from '../../catalogue/built-in-catalogue.ts';
import type { PickerPlan } from '../../picker/plan/picker-plan.ts';
import { loadConfig } from '../load.ts';

type Parameters = Readonly<Record<string, unknown>>;

function load(config: object, apiVersion = 'llm-d.ai/v1alpha1'): PickerPlan {
  const text = JSON.stringify({ apiVersion, kind: 'EndpointPickerConfig', ...config });
  return loadConfig({ text, source: 'test', catalogue: SERVING_CATALOGUE });
}

const OLDER = 'predicted-latency-scorer';
const older = (parameters: Parameters = {}): object => ({ type: OLDER, parameters });
const profileOf = (...names: readonly string[]): object => ({
  schedulingProfiles: [{ name: 'default', plugins: names.map((pluginRef) => ({ pluginRef })) }],
});
const affinity = (parameters: Parameters): object => ({
  type: 'prefix-cache-affinity-filter',
  parameters: {
    ttftSource: 'latencyPredictor',
    explorationProbability: 0.01,
    maxTTFTPenaltyMs: 5000,
    ...parameters,
  },
});

interface Newest {
  readonly strict?: Parameters;
  readonly tier?: Parameters;
  readonly loose?: Parameters;
  readonly scorer?: Parameters;
  readonly producer?: Parameters;
}

/** What the newest release has in place of the scorer. */
function newest({ strict, tier, loose, scorer, producer }: Newest = {}): readonly object[] {
  return [
    { name: OLDER, type: 'latency-scorer', parameters: scorer },
    { name: `${OLDER}-strict-affinity`, ...affinity({ affinityThreshold: 0.99, ...strict }) },
    { name: `${OLDER}-tier`, type: 'slo-headroom-tier-filter', parameters: tier },
    { name: `${OLDER}-loose-affinity`, ...affinity({ affinityThreshold: 0.8, ...loose }) },
    { type: 'predicted-latency-producer', parameters: producer },
    { type: 'latency-slo-admitter' },
  ];
}
const STEPS = [OLDER, `${OLDER}-strict-affinity`, `${OLDER}-tier`, `${OLDER}-loose-affinity`];
const LINEAR = { type: 'weighted-random-picker' };

describe('the one scorer of predicted latencies that older releases have', () => {
  test('[D551] is read as the plugins that later releases have in its place', () => {
    const queue = { type: 'queue-scorer' };
    const plan = load({ plugins: [queue, older()], ...profileOf(OLDER) });
    const later = { plugins: [queue, ...newest(), LINEAR], ...profileOf(...STEPS, LINEAR.type) };
    expect(plan.effective).toEqual(load(later).effective);
    expect(plan.notes.map(({ path, reason }) => `${path}: ${reason}`)).toContain(
      'plugins[1].type: deprecated',
    );
  });

  test('[D551] gives each parameter to the plugin that has it now', () => {
    const bounds = { epsilonExploreSticky: 0.2, affinityMaxTTFTPenaltyMs: 90 };
    const gates = { affinityGateTau: 0.5, affinityGateTauGlobal: 0.7, epsilonExploreNeg: 0.3 };
    const weights = { headroomTTFTWeight: 3, headroomTPOTWeight: 4 };
    const learned = { samplingMean: 50, maxSampledTokens: 10, sloBufferFactor: 2 };
    const given = {
      ...bounds,
      ...gates,
      ...weights,
      ...learned,
      headroomSelectionStrategy: 'most',
    };
    const plan = load({ plugins: [older(given)], ...profileOf(OLDER) });
    const filters = { explorationProbability: 0.2, maxTTFTPenaltyMs: 90 };
    const later = newest({
      strict: { ...filters, affinityThreshold: 0.7 },
      tier: { epsilonExploreNeg: 0.3 },
      loose: { ...filters, affinityThreshold: 0.5 },
      scorer: { ttftWeight: 3, tpotWeight: 4, headroomSelectionStrategy: 'most' },
      producer: { samplingMean: 50, maxDecodeTokenSamplesForPrediction: 10, sloBufferFactor: 2 },
    });
    const expected = load({ plugins: [...later, LINEAR], ...profileOf(...STEPS, LINEAR.type) });
    expect(plan.effective).toEqual(expected.effective);
  });

  test.each([
    ['by chance, where the profile takes the highest score', {}, 'weighted-random-picker'],
    ['the highest score, where it picked so', { selectionMode: 'max' }, 'max-score-picker'],
  ])('[D551] picks %s', (_what, parameters, picker) => {
    const listed = { type: 'max-score-picker' };
    const { profiles } = load({
      plugins: [{ type: 'prefix-cache-scorer' }, older(parameters), listed],
      ...profileOf('prefix-cache-scorer', OLDER, 'max-score-picker'),
    });
    const types = profiles[0]?.plugins.map(({ plugin }) => plugin.definition.type);
    expect(types?.filter((type) => type.endsWith('-picker'))).toEqual([picker]);
    expect(types).toContain('latency-scorer');
    expect(types).toContain('prefix-cache-scorer');
  });

  test('[D551] has its filters behind those of each profile that names it', () => {
    const plugins = [older(), { type: 'decode-filter' }, { type: 'prefill-filter' }];
    const profile = (name: string): object => ({
      name,
      plugins: [{ pluginRef: OLDER, weight: 2 }, { pluginRef: `${name}-filter` }],
    });
    const { profiles } = load({
      plugins: [...plugins, { type: 'disagg-profile-handler' }],
      schedulingProfiles: [profile('decode'), profile('prefill')],
    });
    for (const { name, plugins: entries } of profiles) {
      const types = entries.map(({ plugin }) => plugin.definition.type);
      const affinity = 'prefix-cache-affinity-filter';
      const filters = types.filter((type) => type.endsWith('-filter'));
      expect(filters).toEqual([`${name}-filter`, affinity, 'slo-headroom-tier-filter', affinity]);
    }
  });

  test('[D551] works without profiles, and beside the producer of a later release', () => {
    const producer = { type: 'predicted-latency-producer', parameters: { samplingMean: 7 } };
    const { profiles, notes } = load({ plugins: [older({ samplingMean: 9 }), producer] });
    const types = profiles[0]?.plugins.map(({ plugin }) => plugin.definition.type);
    expect(types).toContain('latency-scorer');
    expect(types).toContain('weighted-random-picker');
    expect(notes.map(({ text }) => text).join()).toContain('write predicted-latency-producer');
  });

  test.each([
    ['negHeadroomTTFTWeight', { negHeadroomTTFTWeight: 0.9 }],
    ['headroomSelectionStrategy', { headroomSelectionStrategy: 'composite-only' }],
  ])('[D551] says that %s has no effect', (name, parameters) => {
    const { notes } = load({ plugins: [older(parameters)], ...profileOf(OLDER) });
    const note = notes.find(({ path }) => path === `plugins[0].parameters.${name}`);
    expect(note?.reason).toBe('own-way');
  });

  test('[D551] refuses what it never had, and is refused in a file of llm-d.ai/v1', () => {
    const unknown = { plugins: [older({ affinity: 1 })], ...profileOf(OLDER) };
    expect(() => load(unknown)).toThrow(/plugins\[0\]\.parameters\.affinity/);
    const wrong = { plugins: [older({ affinityGateTau: 'x' })], ...profileOf(OLDER) };
    expect(() => load(wrong)).toThrow(/affinityThreshold/);
    const list = { plugins: [{ type: OLDER, parameters: [] }], ...profileOf(OLDER) };
    expect(() => load(list)).toThrow(/predicted-latency-scorer/);
    const later = { plugins: [older()], ...profileOf(OLDER) };
    expect(() => load(later, 'llm-d.ai/v1')).toThrow(/list predicted-latency-producer/);
  });
});
