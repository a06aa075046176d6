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

/** What operators, tasks of gateways and a training job give. */
export const OPERATORS: readonly (readonly [what: string, given: Given])[] = [
  [
    'the chart of the Gateway API Inference Extension 1.5, beside objects of llm-d',
    {
      rules: [
        PODS,
        rule([POOLS], ['inferencepools']),
        rule([LEGACY], ['inferenceobjectives', 'inferencemodelrewrites']),
      ],
      args: [...pool, '--pool-group', POOLS, '--zap-encoder', 'json', ...FILE, '--tracing=false'],
      probes: [OWN],
      counts: LEGACY,
    },
  ],
  [
    'a task of Istio',
    {
      rules: [
        PODS,
        rule([POOLS], ['inferencepools']),
        rule([LEGACY], ['inferenceobjectives', 'inferencepools']),
      ],
      args: [...pool, '-v', '4', '--zap-encoder', 'json', ...FILE],
      probes: ['', OWN],
    },
  ],
  [
    'KServe, with one that leads',
    {
      rules: [
        PODS,
        rule([POOLS, LEGACY], ['inferencepools', 'inferenceobjectives', 'inferencemodels']),
        rule([LEGACY], ['inferencemodelrewrites', 'inferencepoolimports']),
        rule(['discovery.k8s.io'], ['endpointslices']),
        rule(['coordination.k8s.io'], ['leases'], ALL_OF_LEASES),
      ],
      args: [
        '--v=4',
        ...pool,
        '--zap-encoder',
        'json',
        '--secure-serving',
        '--model-server-metrics-scheme',
        'https',
        '--model-server-metrics-https-insecure-skip-verify',
        '--ha-enable-leader-election',
        '--config-text',
        TEXT,
      ],
      probes: [EXT_PROC, 'liveness', 'readiness'],
      counts: LEGACY,
    },
  ],
  [
    'an operator that lets it write leases and no events',
    {
      rules: [
        PODS,
        rule([POOLS], ['inferencepools']),
        rule(['coordination.k8s.io'], ['leases'], ['create', 'get', 'update']),
        rule([LEGACY], ['inferenceobjectives', 'inferencemodelrewrites']),
      ],
      args: [...pool, '--pool-group', POOLS, ...FILE, '--ha-enable-leader-election'],
      probes: [OWN],
      counts: LEGACY,
    },
  ],
  [
    'an operator that knows the objects of llm-d alone',
    {
      rules: [
        rule([''], ['pods', 'services', 'endpoints']),
        rule(['discovery.k8s.io'], ['endpointslices']),
        rule([POOLS], ['inferencepools']),
        rule([CURRENT], ['inferenceobjectives', 'inferencemodelrewrites']),
      ],
      args: [...pool, ...FILE, '--secure-serving=false', '--metrics-endpoint-auth=false'],
      probes: [OWN, EXT_PROC],
      counts: CURRENT,
    },
  ],
  [
    'a training job without a pool, which may read pods alone',
    {
      rules: [PODS],
      args: [
        '--endpoint-selector',
        'app=vllm',
        '--endpoint-target-ports',
        '8000',
        '--allow-experimental-plugins',
        '--zap-encoder',
        'json',
        ...FILE,
        '--tracing=false',
        '--metrics-endpoint-auth=false',
      ],
      probes: [OWN],
    },
  ],
];
