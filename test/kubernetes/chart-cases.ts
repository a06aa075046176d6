import {
  ALL_OF_LEASES,
  CURRENT,
  EXT_PROC,
  FILE,
  type Given,
  LEGACY,
  OWN,
  PODS,
  POOLS,
  pool,
  rule,
  TEXT,
} from './given.ts';

import { OPERATORS } from './operator-cases.ts';

const READ_BY_1_5 = [
  PODS,
  rule([POOLS], ['inferencepools']),
  rule([LEGACY], ['inferenceobjectives', 'inferencemodelrewrites']),
];
const READ_BY_LLM_D = [
  ...READ_BY_1_5,
  rule([CURRENT], ['inferenceobjectives', 'inferencemodelrewrites']),
];
const LEADS = [
  rule(['coordination.k8s.io'], ['leases'], ALL_OF_LEASES),
  rule([''], ['events'], ['create', 'patch']),
];
const grouped = [...pool, '--pool-group', POOLS];
const json = ['--zap-encoder', 'json'];
const selected = ['--endpoint-selector', 'app=vllm', '--endpoint-target-ports', '8000'];

/** Charts, each with values that change its arguments, its role or its probes. */
const CHARTS: readonly (readonly [what: string, given: Given])[] = [
  [
    'the chart of the Inference Extension 1.4, with flags and values apart',
    {
      rules: READ_BY_1_5,
      args: [
        ...grouped,
        ...json,
        ...FILE,
        '--v',
        '1',
        '--refresh-metrics-interval',
        '80ms',
        '--tracing=false',
      ],
      probes: [OWN],
      counts: LEGACY,
    },
  ],
  [
    'the chart of the Inference Extension 1.4, for Triton with TensorRT-LLM',
    {
      rules: READ_BY_1_5,
      args: [
        ...grouped,
        '--total-queued-requests-metric',
        'nv_trt_llm_request_metrics{request_type=waiting}',
        '--kv-cache-usage-percentage-metric',
        'nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=fraction}',
        '--lora-info-metric',
        '',
        ...json,
        ...FILE,
        '--tracing=false',
      ],
      probes: [OWN],
      counts: LEGACY,
    },
  ],
  [
    'the chart of the Inference Extension 1.4, with three replicas, of which one leads',
    {
      rules: [...READ_BY_1_5, ...LEADS],
      args: [
        ...grouped,
        ...json,
        ...FILE,
        '--ha-enable-leader-election',
        '--tracing=false',
        '--metrics-endpoint-auth=false',
      ],
      probes: ['liveness', 'readiness'],
      counts: LEGACY,
    },
  ],
  [
    'the chart of the Inference Extension 1.4, without a pool',
    {
      rules: [PODS],
      args: [...selected, ...json, ...FILE, '--tracing=false', '--metrics-endpoint-auth=false'],
      probes: [OWN],
    },
  ],
  [
    'the chart of the Inference Extension 1.5, with an endpoints server for trtllm-serve',
    {
      rules: [PODS],
      args: [
        ...selected,
        '--total-queued-requests-metric="trtllm_num_requests_waiting"',
        '--total-running-requests-metric="trtllm_num_requests_running"',
        '--kv-cache-usage-percentage-metric="trtllm_kv_cache_utilization"',
        '--cache-info-metric="trtllm_cache_config_info"',
        '--model-server-metrics-path="/prometheus/metrics"',
        '--lora-info-metric',
        '',
        ...json,
        ...FILE,
        '--v=1',
        '--tracing=false',
        '--metrics-endpoint-auth=false',
      ],
      probes: [OWN],
    },
  ],
  [
    'llm-d’s chart for a gateway, with three replicas, of which one leads',
    {
      rules: [...READ_BY_LLM_D, ...LEADS],
      args: [
        ...grouped,
        ...json,
        ...FILE,
        '--ha-enable-leader-election',
        '--grpc-health-port',
        '9003',
        '--tracing=false',
      ],
      probes: ['liveness', 'readiness'],
      counts: CURRENT,
    },
  ],
  [
    'llm-d’s chart for a gateway that routes by priority, as a StatefulSet',
    {
      rules: [...READ_BY_LLM_D, ...LEADS],
      args: [
        ...grouped,
        ...json,
        ...FILE,
        '--grpc-health-port',
        '9003',
        '--health-checking=true',
        '--tracing=false',
      ],
      probes: ['liveness', 'readiness', EXT_PROC],
      counts: CURRENT,
    },
  ],
  [
    'llm-d’s standalone chart with the proxy agentgateway',
    {
      rules: READ_BY_LLM_D,
      args: [
        ...grouped,
        ...json,
        ...FILE,
        '--grpc-health-port',
        '9003',
        '--secure-serving=false',
        '--tracing=false',
        '--metrics-endpoint-auth=false',
      ],
      probes: [OWN],
      counts: CURRENT,
    },
  ],
  [
    'KServe’s preset with one replica',
    {
      rules: [
        PODS,
        rule([POOLS, LEGACY], ['inferencepools', 'inferenceobjectives', 'inferencemodels']),
        rule([LEGACY], ['inferencemodelrewrites', 'inferencepoolimports']),
        rule(['discovery.k8s.io'], ['endpointslices']),
      ],
      args: [
        ...pool,
        ...json,
        '--grpc-port',
        '9002',
        '--grpc-health-port',
        '9003',
        '--kv-cache-usage-percentage-metric',
        'vllm:kv_cache_usage_perc',
        '--config-text',
        TEXT,
      ],
      probes: [EXT_PROC],
      counts: LEGACY,
    },
  ],
];

/** All of them, with this configuration as a file or as a text. */
export function givenCases(
  file: string,
  text: string,
): readonly (readonly [what: string, given: Given])[] {
  const filled = (arg: string): readonly string[] =>
    arg === FILE[0] ? ['--config-file', file] : [arg === TEXT ? text : arg];
  return [...OPERATORS, ...CHARTS].map(([what, given]) => [
    what,
    { ...given, args: given.args.flatMap(filled) },
  ]);
}
