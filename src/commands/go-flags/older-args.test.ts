import { describe, expect, test } from 'vitest';
import { fromReferenceArgs } from './reference-args.ts';

const pool = ['--pool-name', 'p', '--pool-namespace=ns'];
/** The arguments of ours that such a command line has beside those of one without these flags. */
const ours = (...args: readonly string[]): readonly string[] => {
  const without = fromReferenceArgs(pool, {})?.args ?? [];
  return (fromReferenceArgs([...pool, ...args], {})?.args ?? []).filter(
    (arg) => !without.includes(arg),
  );
};

describe('a command line of an older release of the reference picker', () => {
  test('[D425] reads flags of older releases of the reference, which were in camel case', () => {
    const older = [
      '-poolName',
      'p',
      '-configFile',
      'a.yaml',
      '-grpcPort=9002',
      '-secureServing=false',
    ];
    const newer = [
      '--pool-name',
      'p',
      '--config-file=a.yaml',
      '--grpc-port=9002',
      '--secure-serving=0',
    ];
    expect(fromReferenceArgs([...older, '-v', '4', '-observe'], {})).toEqual(
      fromReferenceArgs([...newer, '-v=4', '--observe'], {}),
    );
  });

  test('[D566] takes the name of the Service by which the first releases found pods', () => {
    const line = ['-poolName', 'p', '-serviceName', 'vllm', '-grpcPort', '9002'];
    const translated = fromReferenceArgs(line, {});
    expect(translated?.fixed).toEqual({
      '--service-name=vllm': 'the endpoints are the pods that the pool selects',
    });
    const { args = [] } = fromReferenceArgs(['-poolName', 'p', '-grpcPort', '9002'], {}) ?? {};
    expect(translated?.args).toEqual(args);
  });

  test('[D425] names of metrics that older releases take are no news where an engine has them', () => {
    const flags = [
      '--kv-cache-usage-percentage-metric=vllm:kv_cache_usage_perc',
      '--total-queued-requests-metric=nv_trt_llm_request_metrics{request_type=waiting}',
      '--lora-info-metric=',
    ];
    const translated = fromReferenceArgs([...pool, ...flags], {});
    expect(Object.keys(translated?.fixed ?? {})).toEqual(flags);
    expect(ours(...flags)).toEqual([]);
  });

  test.each([
    [
      '--total-queued-requests-metric="sglang:num_queue_reqs"',
      '--total-running-requests-metric="sglang:num_running_reqs"',
      '--kv-cache-usage-percentage-metric="sglang:token_usage"',
      '--cache-info-metric="sglang:cache_config_info"',
    ],
    [
      '--total-queued-requests-metric="trtllm_num_requests_waiting"',
      '--cache-info-metric="trtllm_cache_config_info"',
      '--lora-info-metric=',
    ],
    [
      '--total-running-requests-metric="nv_inference_exec_count"',
      '--kv-cache-usage-percentage-metric=""',
      '--cache-info-metric=""',
    ],
  ])('[D490] takes the quotes off that older charts put around values: %s', (...flags) => {
    const translated = fromReferenceArgs([...pool, ...flags], {});
    expect(Object.keys(translated?.fixed ?? {})).toEqual(flags);
    expect(ours(...flags)).toEqual([]);
    expect(ours('--model-server-metrics-path="/prometheus/metrics"')).toEqual([
      '--scrape-path=/prometheus/metrics',
    ]);
  });

  test('[D491] passes over the switch of older releases for the latency predictor', () => {
    const translated = fromReferenceArgs([...pool, '--enable-latency-predictor'], {});
    expect(translated?.fixed).toEqual({
      '--enable-latency-predictor=true': expect.stringContaining('latencies are learned'),
    });
    expect(ours('--enable-latency-predictor')).toEqual([]);
  });
});
