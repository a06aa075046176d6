const NUMBERS = [0, 1, 2, 3, 10, 64, 100, 1000, 9000, 1e5, 1e8, 0.001, 0.05, 0.3, 0.5, -1];
const TEXTS = [
  '1s',
  '1ms',
  '1h',
  'other',
  'place',
  'gpu',
  'x-who',
  'other_metric',
  'tcp://*:5557',
  '/other',
];

/** Values for a few parameters that take nothing else. */
const VALUES: Readonly<Record<string, readonly unknown[]>> = {
  'request-attribute-reporter attributes.condition': ['usage.prompt_tokens > 500'],
  'request-attribute-reporter attributes.expression': ['usage.prompt_tokens'],
  'core-metrics-extractor defaultEngine': ['sglang'],
  'metrics-data-source extractors.defaultEngine': ['sglang'],
  'session-id-producer cookieName': ['other'],
  'topology-extractor regionLabel': ['kubernetes.io/hostname'],
  'topology-extractor region': ['kubernetes.io/hostname'],
  'capacity maxConcurrencyLabel': ['limit'],
  'flowControl usageLimitPolicyPluginRef': ['soft-reflective-ceiling-policy'],
  'flowControl saturationDetector.pluginRef': ['utilization-detector'],
  'disagg-profile-handler stageOrder': ['prefill-first'],
  'pd-profile-handler deciderPluginName': ['always-disagg-pd-decider'],
  'header-profile-handler headerName': ['x-profile'],
  'max-saturation-detector detectors': [['concurrency-detector']],
};
/** The same for all parameters of these names. */
const BY_NAME: readonly (readonly [RegExp, readonly unknown[]])[] = [
  [/fairnessPolicyRef$/, ['round-robin-fairness-policy']],
  [/orderingPolicyRef$/, ['slo-deadline-ordering-policy']],
  [/(?:P|p)rofile(?:s\..*|Name)?$/, ['other', 'prefill', 'decode', 'nobody']],
  [
    /[dD]eciders?(?:\.(?:prefill)|PluginName)$/,
    ['always-disagg-pd-decider', 'always-disagg-multimodal-decider'],
  ],
  [
    /deciders.encode$|encodeDecider/,
    ['always-disagg-pd-decider', 'always-disagg-multimodal-decider'],
  ],
  [/requireRoles.values$|requiredRoles$/, [['prefill'], ['decode'], ['other']]],
  [/cache(?:BlockSize|NumBlocks)Spec$/, ['other_size', 'other_blocks']],
  [/(?:metricSpec|Spec|Metric)$/, ['other_metric{a=c}', 'other_info', 'other_lora', '']],
  [/LabelName$/, ['pages']],
  [/prefixMatchInfoProducerName$/, ['second-index']],
];

/** What is given for a parameter, one after another, until something shows. */
export function triedValues(
  type: string,
  path: readonly string[],
  values: string,
): readonly unknown[] {
  const own = VALUES[`${type} ${path.join('.')}`];
  if (own !== undefined) return own;
  const named = BY_NAME.find(([name]) => name.test(path.join('.')));
  if (named !== undefined) return named[1];
  const texts = [...values.matchAll(/`"([^"]*)"`/g)].map(([, text]) => text);
  if (values.includes('list of string')) return TEXTS.map((text) => [text]);
  return [
    ...texts,
    ...(values.includes('boolean') ? [true, false] : []),
    ...(/number/.test(values) ? NUMBERS : []),
    ...(values.includes('string') ? TEXTS : []),
  ];
}

/** `parameters` with a value at a path; lists have one entry. */
export function withValue(parameters: object, path: readonly string[], value: unknown): object {
  const [first = '', ...others] = path;
  const inner: unknown = Reflect.get(parameters, first);
  if (others.length === 0) return { ...parameters, [first]: value };
  if (Array.isArray(inner)) {
    return {
      ...parameters,
      [first]: [withValue(inner[0] ?? {}, others, value), ...inner.slice(1)],
    };
  }
  return { ...parameters, [first]: withValue(Object(inner ?? {}), others, value) };
}
