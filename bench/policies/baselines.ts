/** A baseline and the settings over which it is tuned: a coarse grid, on seeds of its own. */
export interface Baseline {
  readonly name: string;
  /** Configurations by name of the variant; the first, '', is the baseline as shipped. */
  readonly variants: ReadonlyMap<string, string>;
}

const HEAD = 'apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\n';

/**
 * The prefix index of the default policy, which follows engines. Policies that are not the
 * reference's have it as shipped, too, and those of the reference when they are tuned: their own
 * index expects more than engines hold.
 */
export const ENGINE_INDEX = `- type: approx-prefix-cache-producer
  parameters: {keepInFlight: true}
`;
/** The name of the variant that differs from the policy as shipped by this index alone. */
const WITH_ENGINE_INDEX = 'index=engine';

/** A configuration with only this scorer, with these parameters, and what it knows of prompts. */
function scorer(type: string, parameters: Readonly<Record<string, number>>, index: string): string {
  return `${HEAD}plugins:\n- type: ${type}\n  parameters: ${JSON.stringify(parameters)}\n${index}`;
}

function grid(
  name: string,
  type: string,
  settings: readonly Readonly<Record<string, number>>[],
  index = '',
): Baseline {
  const variants = settings.map((parameters) => [
    Object.entries(parameters)
      .map(([key, value]) => `${key}=${value}`)
      .join(' '),
    scorer(type, parameters, index),
  ]);
  return {
    name,
    variants: new Map([['', scorer(type, {}, index)], ...(variants as [string, string][])]),
  };
}

function named(name: string): Baseline {
  return { name, variants: new Map([['', name]]) };
}

/** The reference's scorers with other weights than its own: of queue, KV memory, prefix. */
function weighted(
  weights: readonly (readonly [queue: number, kv: number, prefix: number])[],
): Baseline {
  const variants = weights.map(([queue, kv, prefix]): [string, string] => [
    queue === 2 && kv === 2 && prefix === 3
      ? WITH_ENGINE_INDEX
      : `queue=${queue} kv=${kv} prefix=${prefix}`,
    `${HEAD}plugins:
- type: queue-scorer
- type: kv-cache-utilization-scorer
- type: prefix-cache-scorer
${ENGINE_INDEX}schedulingProfiles:
- name: default
  plugins:
  - {pluginRef: queue-scorer, weight: ${queue}}
  - {pluginRef: kv-cache-utilization-scorer, weight: ${kv}}
  - {pluginRef: prefix-cache-scorer, weight: ${prefix}}
`,
  ]);
  return {
    name: 'reference-default',
    variants: new Map([['', 'reference-default'], ...variants]),
  };
}

function sticky(
  settings: readonly (readonly [threshold: number, penaltyMs: number, tokensPerSecond: number])[],
): Baseline {
  const variants = settings.map(([threshold, penaltyMs, throughput]): [string, string] => [
    threshold === 0.8 && penaltyMs === 2000
      ? WITH_ENGINE_INDEX
      : `threshold=${threshold} penalty=${penaltyMs} throughput=${throughput}`,
    `${HEAD}plugins:
- type: prefix-cache-affinity-filter
  parameters: {affinityThreshold: ${threshold}, maxTTFTPenaltyMs: ${penaltyMs}, peakPrefillThroughput: ${throughput}}
- type: token-load-scorer
- type: active-request-scorer
${ENGINE_INDEX}schedulingProfiles:
- name: default
  plugins:
  - pluginRef: prefix-cache-affinity-filter
  - {pluginRef: token-load-scorer, weight: 1000}
  - {pluginRef: active-request-scorer, weight: 0.001}
`,
  ]);
  return { name: 'sticky', variants: new Map([['', 'sticky'], ...variants]) };
}

/** Every policy that the default is compared with. */
export const BASELINES: readonly Baseline[] = [
  named('round-robin'),
  named('random'),
  named('least-request'),
  named('least-queue'),
  named('least-kv'),
  named('power-of-two'),
  grid('consistent-hash', 'consistent-hash-scorer', [
    { loadFactor: 1.1 },
    { loadFactor: 1.5 },
    { loadFactor: 2 },
    { loadFactor: 1.25, prefixTokens: 4096 },
    { loadFactor: 1.5, prefixTokens: 8192 },
  ]),
  grid('rendezvous', 'rendezvous-scorer', [{ prefixTokens: 4096 }, { prefixTokens: 8192 }]),
  weighted([
    [2, 2, 3],
    [1, 1, 1],
    [1, 1, 4],
    [3, 1, 2],
    [1, 0, 1],
  ]),
  sticky([
    [0.8, 2000, 25_000],
    [0.5, 500, 25_000],
    [0.5, 2000, 25_000],
    [0.8, 500, 25_000],
    [0.8, 8000, 25_000],
    [0.3, 500, 25_000],
    [0.3, 1000, 50_000],
  ]),
  {
    name: 'token-load',
    variants: new Map([
      ['', 'token-load'],
      [WITH_ENGINE_INDEX, scorer('token-load-scorer', {}, ENGINE_INDEX)],
    ]),
  },
  named('lmetric'),
  grid(
    'dynamo',
    'dynamo-cost-scorer',
    [
      { prefillLoadScale: 2 },
      { prefillLoadScale: 4 },
      { prefillLoadScale: 16 },
      { prefillLoadScale: 64 },
      { prefillLoadScale: 4, temperature: 0.05 },
    ],
    ENGINE_INDEX,
  ),
  grid(
    'preble',
    'preble-scorer',
    [{ exploitShare: 0.3 }, { exploitShare: 0.8 }, { exploitShare: 0.5, decodeShare: 0.05 }],
    ENGINE_INDEX,
  ),
  grid(
    'dual-map',
    'dual-map-scorer',
    [{ ttftSloMs: 500 }, { ttftSloMs: 2000, prefixTokens: 4096 }, { ttftSloMs: 200 }],
    ENGINE_INDEX,
  ),
  named('virtual-tokens'),
];
