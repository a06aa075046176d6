import { describe, expect, test } from 'vitest';
import { EMBEDDED_CATALOGUE } from '../../catalogue/built-in-catalogue.ts';
import { ConfigError } from '../../framework/error.ts';
import { loadConfig } from '../load.ts';

const VERSION = { apiVersion: 'llm-d.ai/v1alpha1', kind: 'EndpointPickerConfig' };

function issuesOf(config: object): readonly string[] {
  const text = JSON.stringify({ ...VERSION, ...config });
  try {
    loadConfig({ text, source: 'test', catalogue: EMBEDDED_CATALOGUE });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.issues.map(({ path, message }) => `${path}: ${message}`);
  }
  return [];
}

describe('configurations of older releases of the reference', () => {
  test('[D306] [D412] what older releases had and nothing has now is an error that says what to write', () => {
    const older = 'is of an older release of the reference picker; ';
    const plugins = [
      { type: 'prefix-cache-scorer', parameters: { hashBlockSize: 8 } },
      { type: 'approx-prefix-cache-producer' },
      { type: 'least-queue-filter' },
      {
        type: 'session-affinity-scorer',
        parameters: { headerName: 'a', encodedEndpointHeaderConfig: { header: 'b' } },
      },
      { type: 'slo-aware-profile-handler' },
    ];
    expect(issuesOf({ plugins })).toEqual([
      `plugins[0].parameters.hashBlockSize: ${older}list an approx-prefix-cache-producer, and give it there as blockSizeTokens, in tokens`,
      `plugins[2].type: least-queue-filter ${older}list queue-scorer`,
      `plugins[3].parameters.headerName: ${older}write encodedEndpointHeaderConfig.header`,
      `plugins[4].type: slo-aware-profile-handler ${older}list single-profile-handler, and one profile with latency-scorer`,
    ]);
    expect(issuesOf({ plugins: [], data: { sources: [] }, dataLayer: {} })).toEqual([
      `data: ${older}write dataLayer`,
    ]);
  });

  test('[D335] [D412] a parameter of later releases is an error that says what happens without it', () => {
    const plugins = [
      { type: 'approx-prefix-cache-producer', parameters: { prefixHashSource: 'metadata' } },
      { type: 'inflight-load-producer', parameters: { outputEstimator: 'static' } },
      { type: 'active-request-filter' },
      {
        type: 'core-metrics-extractor',
        parameters: { engineConfigs: [{ name: 'ours', loraGPUSlotsSpec: 'slots' }] },
      },
      {
        type: 'endpoint-attribute-scorer',
        parameters: {
          attributeKey: 'a',
          algorithm: { type: 'linear_higher_is_better', normalization: { adaptiveRange: {} } },
          source: 'metadata',
        },
      },
    ];
    const later = 'is of a later release of the reference picker, and is not here; leave it out: ';
    expect(issuesOf({ plugins })).toEqual([
      `plugins[0].parameters.prefixHashSource: ${later}blocks are made from the text of prompts`,
      `plugins[1].parameters.outputEstimator: ${later}answers are counted by outputRatio, or with outlen-bucket by what requests say`,
      'plugins[2].type: active-request-filter is in no release of the reference picker, and is not here; utilization-filter with active-requests does a similar work',
      `plugins[3].parameters.engineConfigs[0].loraGPUSlotsSpec: ${later}adapters and their number are read from loraSpec`,
      `plugins[4].parameters.source: ${later}attributes of endpoints count, and no scores that another filter sends`,
    ]);
  });

  test.each([
    ['capacity-ledger', 'utilization-detector'],
    ['compatibility-screener', 'disaggregatedset-rollout-screener'],
    ['decode-pipeline-pressure-filter', 'utilization-filter'],
    ['dp-rank-header-handler', 'data-parallel-profile-handler'],
    ['gw-subset-screener', 'the subset hint, which counts without a plugin,'],
    ['kv-cache-source-producer', 'p2p-source-producer'],
    ['latency-observer-producer', 'latency-observer-producer-hub'],
    ['osl-bucket', 'outlen-bucket'],
    ['prefill-pin-screener', 'endpoint-pin-screener'],
    ['zmq-state-extractor', 'core-metrics-extractor'],
    ['multicluster-topology-scorer', 'label-producer with endpoint-attribute-weight-scorer'],
    ['session-prefix-cache-producer', 'approx-prefix-cache-producer'],
    ['sojourn-time-observer-hub', 'latency-observer-producer-hub'],
    ['selective-kv-policy', 'the engine, which loads cached blocks as it needs them,'],
    ['prefetch-prerequest-handler', 'the engine, which loads cached blocks as it needs them,'],
    ['constant-ceiling-control', 'the default usage limit policy'],
    ['inflight-load-scorer', 'active-request-scorer'],
    ['input-profile-tracker', 'latency-slo-admitter'],
    ['latency-detector', 'utilization-detector with latency-slo-admitter'],
    ['weighted-mm-embeddings-cache-producer', 'mm-embeddings-cache-producer'],
    ['weighted-mm-embeddings-cache-scorer', 'mm-embeddings-cache-scorer'],
  ])('[D421] %s, which is only in branches, is an error that names %s', (type, similar) => {
    expect(issuesOf({ plugins: [{ type }] })).toEqual([
      `plugins[0].type: ${type} is in no release of the reference picker, and is not here; ${similar} does a similar work`,
    ]);
  });

  test.each([
    ['label-filter', 'label-selector-filter'],
    ['dyn-prefill-scorer', 'prefix-cache-scorer'],
    ['dyn-decode-scorer', 'active-request-scorer'],
    ['kv-aware-scorer', 'precise-prefix-cache-scorer'],
    ['dynamo-inject-workerid', 'the destination header, which names the endpoint,'],
    ['dynamo-cleanup', 'the picker itself, which frees what a request holds when its answer ends,'],
  ])('[D567] %s, which is of Dynamo’s picker, is an error that names %s', (type, similar) => {
    expect(issuesOf({ plugins: [{ type }] })).toEqual([
      `plugins[0].type: ${type} is in no release of the reference picker, and is not here; ${similar} does a similar work`,
    ]);
  });

  test('[D541] a query that only branches have is an error that names the path', () => {
    const parameters = { path: '/v1/loads', query: { format: 'prometheus' } };
    expect(issuesOf({ plugins: [{ type: 'metrics-data-source', parameters }] })).toEqual([
      'plugins[0].parameters.query: is of a later release of the reference picker, and is not here; leave it out: write it in path, such as /v1/loads?format=prometheus',
    ]);
  });

  test('[D421] reports of caches that only branches ask for are an error that says so', () => {
    const plugins = [
      { type: 'precise-prefix-cache-producer', parameters: { fullReportRepair: {} } },
    ];
    expect(issuesOf({ plugins })[0]).toContain('events are replayed from the engine');
  });

  test('[D398] a field of later releases is an error that says what happens without it', () => {
    const flowControl = { bandSelectionPolicyPluginRef: 'some' };
    expect(issuesOf({ plugins: [{ type: 'queue-scorer' }], flowControl })).toEqual([
      'flowControl.bandSelectionPolicyPluginRef: is of a later release of the reference picker, and is not here; leave it out: requests of the highest priority come first, as by default there',
    ]);
  });

  test('[D421] what only branches have is an error that says what to write', () => {
    const later = 'is of a later release of the reference picker, and is not here; leave it out: ';
    const plugins = [
      { type: 'topology-affinity-filter', parameters: { loadAllowance: 3 } },
      { type: 'topology-stamp-handler' },
      { type: 'queue-scorer' },
    ];
    const members = [{ pluginRef: 'queue-scorer' }];
    const schedulingProfiles = [{ name: 'a', plugins: members, fallbackProfile: 'b' }];
    expect(issuesOf({ plugins, schedulingProfiles })).toEqual([
      `schedulingProfiles[0].fallbackProfile: ${later}where all scores of a profile are 0, its picker chooses among equal endpoints`,
      `plugins[0].parameters.loadAllowance: ${later}endpoints that are near stay however busy they are`,
      'plugins[1].type: topology-stamp-handler is in no release of the reference picker, and is not here; disagg-profile-handler with topology-affinity-scorer does a similar work',
    ]);
  });

  test('[D306] a profile handler with an error counts as one that is there', () => {
    const plugins = [
      { type: 'queue-scorer' },
      { type: 'pd-profile-handler', parameters: { deciderPluginName: 'x', threshold: 10 } },
    ];
    const schedulingProfiles = ['prefill', 'decode'].map((name) => ({
      name,
      plugins: [{ pluginRef: 'queue-scorer' }],
    }));
    expect(issuesOf({ plugins, schedulingProfiles }).map((text) => text.split(':')[0])).toEqual([
      'plugins[1].parameters.threshold',
    ]);
  });

  test('[V415] a field that every object of JavaScript has is an unknown one', () => {
    const plugins = [{ type: 'prefix-cache-scorer', parameters: { constructor: 1 } }];
    const schedulingProfiles = [{ name: 'a', plugins: [{ pluginRef: 'prefix-cache-scorer' }] }];
    const [issue = ''] = issuesOf({ plugins, schedulingProfiles });
    expect(issue).toContain('plugins[0].parameters.constructor');
    expect(issue).not.toContain('native code');
  });
});
