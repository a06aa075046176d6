import type { PickerPlan, PlannedPlugin } from '../../picker/plan/picker-plan.ts';

type Rule = readonly [types: readonly string[], text: string];

const UNKNOWN =
  'an endpoint without a fresh sample is unknown and rated behind the others; there it counts as idle';
const PREDICTION =
  'latencies are predicted by a model that the picker learns from its own requests; there a service beside the picker predicts them';

/** What behaves in another way here, by the types that are concerned. */
const RULES: readonly Rule[] = [
  [
    [
      'queue-scorer',
      'running-requests-size-scorer',
      'kv-cache-utilization-scorer',
      'load-aware-scorer',
    ],
    UNKNOWN,
  ],
  [
    ['no-hit-lru-scorer'],
    'endpoints that never got a prompt without a match score alike; there they score less and less in the order of a list',
  ],
  [
    ['precise-prefix-cache-producer'],
    'blocks are found by the engines’ own hashes, and where an index is incomplete the match is estimated; there such a prompt counts as not cached',
  ],
  [
    [
      'latency-scorer',
      'slo-headroom-tier-filter',
      'predicted-latency-producer',
      'latency-slo-admitter',
    ],
    PREDICTION,
  ],
  [
    ['active-request-scorer', 'token-load-scorer', 'concurrency-detector'],
    'a request counts from the decision on, in the same step; there it counts a moment later, so that decisions at the same time may not see each other',
  ],
  [
    ['models-data-source', 'dcgm-data-source'],
    'endpoints are asked every second unless interval says otherwise; there with every scrape of metrics',
  ],
  [
    ['utilization-detector'],
    'as a detector, a queue has what the last sample saw and what was sent there since, and an endpoint without a fresh sample counts by what is in flight there; there by the last sample alone, and as full without a fresh one',
  ],
  [
    ['token-producer', 'tokenizer'],
    'a prompt waits 100 ms for its tokens unless vllm.timeout says otherwise, and goes on without them; there 5 s, or 30 s with images',
  ],
  [
    ['probabilistic-admitter'],
    'an endpoint that was never scraped counts as full; there it counts as empty',
  ],
  [
    ['burst-prefix-cache-producer'],
    'a window is 10 s at most, and its requests are placed among the endpoints of the pool; there among the candidates of its first request',
  ],
  [
    ['disaggregatedset-rollout-screener'],
    'revisions count by the endpoints of the pool, and each request is drawn by itself; there by all ready pods that scope selects, and in releases after 0.10 requests with one id get one revision',
  ],
  [
    ['program-aware-fairness'],
    'with las, what a program got always counts less with time; there only while none of its requests waits or runs',
  ],
  [
    ['weighted-random-picker'],
    'where maxNumOfEndpoints is above 1, endpoints with the score 0 come behind the others; there they are left out',
  ],
  [
    ['destination-endpoint-served-verifier'],
    'one text says that the proxy did not name the endpoint that served; there another one says so where it sent no envoy.lb metadata at all',
  ],
  [
    ['topology-affinity-scorer', 'topology-affinity-filter'],
    'without a topology-extractor in plugins one is added; there all endpoints are alike then, with a warning at start',
  ],
  [
    ['topology-extractor'],
    'the host of an endpoint is the node of its pod, unless the pod has the label; there it is the host name that the pod gives itself',
  ],
];

/** Deciders of whether a prompt is computed elsewhere. */
const PREFILL_DECIDERS: ReadonlySet<string> = new Set([
  'always-disagg-pd-decider',
  'prefix-based-pd-decider',
]);
const NO_PREFILLER =
  'a prompt for which the prefill profile finds no endpoint is computed by the decoding endpoint; releases after 0.10 refuse it (prefillRequired: true of disagg-profile-handler does so here, and apiVersion llm-d.ai/v1 has it on)';
const NO_PREFILLER_REFUSED =
  'a prompt for which the prefill profile finds no endpoint is refused, as in releases after 0.10; in 0.10 the decoding endpoint computes it (prefillRequired: false of disagg-profile-handler)';

/** One sentence for each behaviour of this configuration that differs from the reference's. */
export function referenceDifferences(plan: PickerPlan): readonly string[] {
  const { plugins, ejection } = plan;
  const types = new Set<string>(plugins.map(({ definition }) => definition.type));
  const named = RULES.flatMap(([concerned, text]) => {
    const present = concerned.filter((type) => types.has(type));
    return present.length === 0 ? [] : [`${present.join(', ')}: ${text}`];
  });
  const prefill = plugins.flatMap(({ name, definition }) =>
    PREFILL_DECIDERS.has(definition.type) ? [name] : [],
  );
  const isRequired = plugins.some(({ config }) => parametersOf(config)['prefillRequired'] === true);
  return [
    ...named,
    ...prefill.map((name) => `${name}: ${isRequired ? NO_PREFILLER_REFUSED : NO_PREFILLER}`),
    ...plugins.flatMap(pluginDifferences),
    ...(ejection?.enabled === false
      ? []
      : [
          'serve leaves endpoints that fail out of the candidates, until trials succeed; there they stay candidates (ejection: {enabled: false} turns it off)',
        ]),
  ];
}

function pluginDifferences({ name, definition, config }: PlannedPlugin): readonly string[] {
  const { type } = definition;
  const given = parametersOf(config);
  if (type === 'metrics-data-source') {
    const isHttps = given['scheme'] === 'https' && given['insecureSkipVerify'] === undefined;
    return [
      ...sourceDifferences(given).map((text) => `${name}: ${text}`),
      ...(isHttps
        ? [
            `${name}: serve verifies the certificates of model servers; there, and here with a command line of the reference, they are verified only if insecureSkipVerify is false`,
          ]
        : []),
      ...(name === type
        ? []
        : [
            `${name}: it scrapes in place of the default source; there it does so only where dataLayer.sources names it`,
          ]),
    ];
  }
  if (type === 'prefix-cache-affinity-filter' && given['ttftSource'] === 'latencyPredictor') {
    return [`${name}: ${PREDICTION}`];
  }
  return [];
}

/** The reference rounds an interval to a multiple of this, unless a flag says another one. */
const BASE_INTERVAL_MS = 50;

function sourceDifferences(given: Readonly<Record<string, unknown>>): readonly string[] {
  const { interval, scheme, caCertPath, clientCertPath } = given;
  const isBetween = typeof interval === 'number' && interval % BASE_INTERVAL_MS !== 0;
  const hasFiles = scheme === 'https' && Boolean(caCertPath || clientCertPath);
  return [
    ...(isBetween
      ? [
          `its interval of ${interval} ms is kept; there it is rounded to a multiple of --refresh-metrics-interval, ${BASE_INTERVAL_MS} ms by default`,
        ]
      : []),
    ...(hasFiles
      ? [
          'without the files of its certificates its scrapes fail, and the log says why; there the picker does not start',
        ]
      : []),
  ];
}

function parametersOf(config: unknown): Readonly<Record<string, unknown>> {
  return (config ?? {}) as Readonly<Record<string, unknown>>;
}
