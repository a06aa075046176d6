import { describe, expect, test } from 'vitest';
import { EMBEDDED_CATALOGUE } from '../../catalogue/built-in-catalogue.ts';
import { ConfigError } from '../../framework/error.ts';
import type { PickerPlan } from '../../picker/plan/picker-plan.ts';
import { loadConfig } from '../load.ts';

function load(type: string, parameters: object, others: readonly object[] = []): PickerPlan {
  const plugins = [{ type, parameters }, ...others];
  const head = { apiVersion: 'llm-d.ai/v1alpha1', kind: 'EndpointPickerConfig' };
  const text = JSON.stringify({ ...head, plugins });
  return loadConfig({ text, source: 'test', catalogue: EMBEDDED_CATALOGUE });
}

function parsed(type: string, parameters: object): unknown {
  return load(type, parameters).plugins.find(({ name }) => name === type)?.config;
}

/** Parameters that the reference reads, by type, and the reason of the note that each gets. */
const IDLE: readonly (readonly [type: string, parameters: object, reason: string])[] = [
  ['prefix-cache-affinity-filter', { latencyPredictionInfoProducerName: 'x' }, 'own-way'],
  ['prefix-cache-affinity-filter', { inFlightLoadProducerName: 'x' }, 'own-way'],
  ['slo-headroom-tier-filter', { latencyPredictionInfoProducerName: 'x' }, 'own-way'],
  ['active-request-scorer', { requestTimeout: '2m' }, 'obsolete'],
  ['active-request-scorer', { inFlightLoadProducerName: 'x' }, 'own-way'],
  ['token-load-scorer', { inFlightLoadProducerName: 'x' }, 'own-way'],
  ['no-hit-lru-scorer', { prefixPluginType: 'x' }, 'obsolete'],
  ['no-hit-lru-scorer', { prefixPluginName: 'x' }, 'obsolete'],
  ['latency-scorer', { latencyPredictionInfoProducerName: 'x' }, 'own-way'],
  ['latency-scorer', { prefixMatchInfoProducerName: 'x' }, 'own-way'],
  ['predicted-latency-producer', { contextTTL: 300_000_000_000 }, 'core'],
  ['predicted-latency-producer', { encoderCacheMatchInfoProducerName: 'x' }, 'core'],
  ['approx-prefix-cache-producer', { maxPrefixBlocksToMatch: 256 }, 'replaced'],
  ['metrics-data-source', { families: ['vllm:num_requests_waiting'] }, 'own-way'],
  ['multicluster-metrics-data-source', { families: ['queue'] }, 'own-way'],
  ['latency-scorer', { headroomSelectionStrategy: 'composite-least' }, 'obsolete'],
];

describe("the reference's parameters", () => {
  test.each(IDLE)('[D7] %s reads %j, with a note', (type, parameters, reason) => {
    const { notes } = load(type, parameters);
    expect(notes.map((note) => note.reason)).toEqual([reason]);
    expect(notes[0]?.path).toContain('plugins[0].parameters');
  });

  test.each([
    ['active-request-scorer', { idleThreshold: -1, maxBusyScore: 7 }, {}],
    ['max-score-picker', { maxNumOfEndpoints: 0 }, {}],
    ['metrics-data-source', { port: 0, interval: '', caCertPath: '' }, {}],
    ['prefix-cache-scorer', { prefixMatchInfoProducerName: '' }, {}],
    ['session-affinity-filter', { strategy: '', sessionIdConfig: { evictionTtlSeconds: 0 } }, {}],
    ['topology-extractor', { hostname: '' }, {}],
    ['topology-extractor', { hostname: 'h', rack: 'r' }, { hostLabel: 'h', rackLabel: 'r' }],
  ])('[D7] %s reads %j as %j', (type, given, meant) => {
    expect(parsed(type, given)).toEqual(parsed(type, meant));
  });

  const attribute = (algorithm: object): object => ({ attribute: 'a', algorithm });
  const scored = (normalization: object): object => {
    const algorithm = { type: 'linear_lower_is_better', normalization };
    return { attributeKey: 'a', algorithm };
  };

  test.each([
    ['metrics-data-source', { path: 'stats' }, { path: '/stats' }],
    ['core-metrics-extractor', { engineLabelKey: '', defaultEngine: '' }, {}],
    ['models-data-source', { path: '' }, { path: '/' }],
    ['topology-affinity-filter', { minAffinity: '', topologyProducerName: '' }, {}],
    [
      'endpoint-attribute-filter',
      { ATTRIBUTE: 'a', Algorithm: { Type: 'threshold', Threshold: { OPERATOR: 'LessThan' } } },
      attribute({ type: 'threshold', threshold: { operator: 'LessThan', value: 0 } }),
    ],
    [
      'endpoint-attribute-scorer',
      scored({ fixedRange: { max: 3 } }),
      scored({ fixedRange: { min: 0, max: 3 } }),
    ],
  ])('[D422] %s reads %j as %j, as Go does', (type, given, meant) => {
    expect(parsed(type, given)).toEqual(parsed(type, meant));
  });

  const scope = { labelSelector: 'a=b' };
  const gating = (more: object): object => ({
    scope,
    revisionGating: { mode: 'sum', requiredRoles: ['prefill'], ...more },
  });

  test.each<readonly [type: string, given: object, meant: object]>([
    ['precise-prefix-cache-producer', { speculativeTTL: '' }, {}],
    ['precise-prefix-cache-producer', { speculativeTTL: '0s' }, {}],
    ['precise-prefix-cache-producer', { tokenProcessorConfig: { blockSizeTokens: 0 } }, {}],
    [
      'precise-prefix-cache-producer',
      { tokenProcessorConfig: { blockSizeTokens: 0, blockSize: 32, hashAlgorithm: '' } },
      { tokenProcessorConfig: { blockSizeTokens: 32 } },
    ],
    ['precise-prefix-cache-producer', { kvEventsConfig: { engineType: '' } }, {}],
    ['session-id-producer', {}, { headerName: 'x-session-id' }],
    [
      'agent-identity',
      { additionalSessionHeaders: ['', 'X-A'] },
      { additionalSessionHeaders: ['x-a'] },
    ],
    [
      'disaggregatedset-rollout-screener',
      gating({ revisionLabelKey: '', roleLabelKey: '', revisionHeaderName: '' }),
      gating({}),
    ],
    ['program-aware-fairness', { strategy: '' }, {}],
    ['latency-scorer', { headroomSelectionStrategy: '' }, {}],
    ['latency-scorer', { ttftWeight: 0, tpotWeight: 0 }, { ttftWeight: 1, tpotWeight: 0 }],
    ['models-data-source', { interval: '' }, {}],
    ['dcgm-data-source', { interval: '' }, {}],
    ['multicluster-metrics-data-source', { interval: '', port: 0 }, {}],
  ])('[D430] [D433] %s reads %j as %j, as the reference', (type, given, meant) => {
    expect(parsed(type, given)).toEqual(parsed(type, meant));
  });

  test('[D430] an answer counts as no tokens where their ratio to the prompt is 0', () => {
    const parameters = { addEstimatedOutputTokens: true, outputRatio: 0 };
    expect(load('inflight-load-producer', parameters).outputEstimate).toEqual({ ratio: 0 });
  });

  test('[D430] an empty list of parameters is none; another list is an error', () => {
    expect(load('queue-scorer', []).plugins).toEqual(load('queue-scorer', {}).plugins);
    expect(() => load('load-aware-scorer', [1])).toThrow('must be a map with fields, not a list');
  });

  test('[D555] a parameter that a type does not have is an error, also where it is null', () => {
    const given = { threshold: null, treshold: null };
    expect(() => load('load-aware-scorer', given)).toThrow('plugins[0].parameters.treshold');
    expect(parsed('load-aware-scorer', { THRESHOLD: null })).toEqual(
      parsed('load-aware-scorer', {}),
    );
    const { notes } = load('queue-scorer', { treshold: null });
    expect(notes.map(({ reason }) => reason)).toEqual(['no-such-parameter']);
  });

  test.each<readonly [type: string, parameters: object, path: string]>([
    ['predicted-latency-producer', { samplingMean: 0 }, 'samplingMean'],
    [
      'predicted-latency-producer',
      { maxDecodeTokenSamplesForPrediction: -1 },
      'maxDecodeTokenSamplesForPrediction',
    ],
    [
      'disaggregatedset-rollout-screener',
      gating({ requiredRoles: ['prefill', 'prefill'] }),
      'revisionGating.requiredRoles[1]',
    ],
    ['session-id-producer', { headerName: '' }, 'headerName'],
  ])('[D430] %s refuses %j, as the reference', (type, parameters, path) => {
    expect(() => load(type, parameters)).toThrow(`plugins[0].parameters.${path}`);
  });

  test('[D422] two normalizations of one attribute are an error, as in the reference', () => {
    const both = scored({ fixedRange: { min: 0, max: 1 }, adaptiveRange: {} });
    expect(() => load('endpoint-attribute-scorer', both)).toThrow('give one of them');
  });

  test.each([
    ['', 'decode-first'],
    ['decode', 'decode-first'],
    ['Decode_First', 'decode-first'],
    ['PREFILLFIRST', 'prefill-first'],
    ['prefill', 'prefill-first'],
    ['first', undefined],
    ['encode-first', undefined],
  ])('[D422] stageOrder %j is `%s`', (stageOrder, meant) => {
    const read = (): unknown => {
      const head = { apiVersion: 'llm-d.ai/v1alpha1', kind: 'EndpointPickerConfig' };
      const schedulingProfiles = [{ name: 'decode' }, { name: 'prefill' }];
      const plugins = [{ type: 'disagg-profile-handler', parameters: { stageOrder } }];
      const text = JSON.stringify({ ...head, plugins, schedulingProfiles });
      return loadConfig({ text, source: 'test', catalogue: EMBEDDED_CATALOGUE }).handler.config;
    };
    if (meant === undefined) expect(read).toThrow('decode-first, prefill-first');
    else expect(read()).toMatchObject({ stageOrder: meant });
  });

  test.each([{ maxPrefixTokensToMatch: 0 }, { keepInFlight: true }])(
    '[D7] a bound in blocks has no note where it counts: with %j',
    (given) => {
      const parameters = { ...given, maxPrefixBlocksToMatch: 256 };
      expect(load('approx-prefix-cache-producer', parameters).notes).toEqual([]);
    },
  );

  test('[D7] a factor of the latency predictor that the reference refuses is refused', () => {
    const of = (sloBufferFactor: number): unknown =>
      load('predicted-latency-producer', { sloBufferFactor });
    expect(of(0.5)).toBeDefined();
    expect(() => of(0)).toThrow('sloBufferFactor');
  });

  test('[D7] durations are texts in Go’s notation, or where Go has its own type also nanoseconds', () => {
    const minute = parsed('utilization-detector', { metricsStalenessThreshold: '1m' });
    for (const metricsStalenessThreshold of ['+1m', '.5m30s', '60.s']) {
      expect(parsed('utilization-detector', { metricsStalenessThreshold })).toEqual(minute);
    }
    const number = { metricsStalenessThreshold: 60_000_000_000 };
    expect(() => load('utilization-detector', number)).toThrow('with its unit, such as 250ms');
    const interval = { kvBlockIndexConfig: { metricsLoggingInterval: 60_000_000_000 } };
    expect(
      load('precise-prefix-cache-producer', { indexerConfig: interval }).plugins,
    ).toBeDefined();
  });

  test('[D7] the disaggregation handler reads the older flat names, but not beside the newer ones', () => {
    const type = 'disagg-profile-handler';
    const others = [{ type: 'always-disagg-pd-decider' }];
    const decider = 'always-disagg-pd-decider';
    const handler = (parameters: object): unknown => {
      const head = { apiVersion: 'llm-d.ai/v1alpha1', kind: 'EndpointPickerConfig' };
      const schedulingProfiles = [{ name: 'd' }, { name: 'p' }];
      const plugins = [{ type, parameters }, ...others];
      const text = JSON.stringify({ ...head, plugins, schedulingProfiles });
      return loadConfig({ text, source: 'test', catalogue: EMBEDDED_CATALOGUE }).handler.config;
    };
    const meant = handler({
      profiles: { decode: 'd', prefill: 'p' },
      deciders: { prefill: decider },
    });
    const flat = { decodeProfile: 'd', prefillProfile: 'p' };
    expect(handler({ ...flat, prefillDeciderPluginName: decider })).toEqual(meant);
    expect(handler({ ...flat, deciderPluginName: decider })).toEqual(meant);
    expect(() => handler({ ...flat, deciders: { prefill: decider } })).toThrow('older flat names');
    expect(() => handler({ ...flat, deciderPluginName: 'other' })).toThrow(ConfigError);
  });
});
