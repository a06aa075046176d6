import { type Baseline, ENGINE_INDEX } from './baselines.ts';

/** A baseline for separate prefill and decode servers: its plugins, and those of its profiles. */
interface Policy {
  readonly name: string;
  readonly plugins: readonly string[];
  readonly prefill: readonly string[];
  readonly decode: readonly string[];
}

const ALWAYS = 'always';
const NEVER = 'never';
/** Uncached tokens from which prefill is separate: 16 as in the reference, 1,000 as in Dynamo. */
const THRESHOLDS = ['16', '512', '1000', '2048', '4096', '8192'];

function configOf({ plugins, prefill, decode }: Policy, decider: string): string {
  const type = decider === ALWAYS ? 'always-disagg-pd-decider' : 'prefix-based-pd-decider';
  const parameters =
    decider === ALWAYS ? {} : { nonCachedTokens: decider === NEVER ? 0 : Number(decider) };
  const references = (names: readonly string[]): string =>
    names.map((name) => `  - ${name.startsWith('{') ? name : `{pluginRef: ${name}}`}`).join('\n');
  return `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
- type: ${type}
  parameters: ${JSON.stringify(parameters)}
- type: disagg-profile-handler
  parameters: {deciders: {prefill: ${type}}}
- type: prefill-filter
- type: decode-filter
${plugins.map((plugin) => `- ${plugin.startsWith('{') ? plugin : `type: ${plugin}`}`).join('\n')}
${ENGINE_INDEX}schedulingProfiles:
- name: prefill
  plugins:
${references(['prefill-filter', ...prefill])}
- name: decode
  plugins:
${references(['decode-filter', ...decode])}
`;
}

/** A baseline as shipped, and with every other decider. */
function baseline(policy: Policy, shipped: string): Baseline {
  const others = [ALWAYS, NEVER, ...THRESHOLDS].filter((decider) => decider !== shipped);
  const variants = others.map((decider): [string, string] => [
    `elsewhere: ${decider}`,
    configOf(policy, decider),
  ]);
  return { name: policy.name, variants: new Map([['', configOf(policy, shipped)], ...variants]) };
}

/** One scorer for both stages. */
function scorer(name: string, type: string, shipped = ALWAYS): Baseline {
  return baseline({ name, plugins: [type], prefill: [type], decode: [type] }, shipped);
}

const STICKY_PLUGINS = [
  'prefix-cache-affinity-filter',
  'token-load-scorer',
  'active-request-scorer',
];
const STICKY_PROFILE = [
  'prefix-cache-affinity-filter',
  '{pluginRef: token-load-scorer, weight: 1000}',
  '{pluginRef: active-request-scorer, weight: 0.001}',
];

/**
 * The baselines that exist for both stages, named as in other pools, with the reference's deciders.
 * `reference-default` is here the reference's guide for such pools.
 */
export const DISAGGREGATION_BASELINES: readonly Baseline[] = [
  scorer('round-robin', 'round-robin-scorer'),
  scorer('least-request', 'active-request-scorer'),
  baseline(
    {
      name: 'reference-default',
      plugins: [
        'prefix-cache-scorer',
        'queue-scorer',
        'kv-cache-utilization-scorer',
        'active-request-scorer',
      ],
      prefill: [
        '{pluginRef: prefix-cache-scorer, weight: 3}',
        '{pluginRef: queue-scorer, weight: 2}',
        '{pluginRef: kv-cache-utilization-scorer, weight: 2}',
      ],
      decode: [
        '{pluginRef: active-request-scorer, weight: 2}',
        '{pluginRef: prefix-cache-scorer, weight: 3}',
      ],
    },
    ALWAYS,
  ),
  baseline(
    {
      name: 'sticky',
      plugins: STICKY_PLUGINS.map((type) =>
        type === 'prefix-cache-affinity-filter'
          ? `{type: ${type}, parameters: {peakPrefillThroughput: 25000, maxTTFTPenaltyMs: 2000}}`
          : type,
      ),
      prefill: STICKY_PROFILE,
      decode: STICKY_PROFILE,
    },
    ALWAYS,
  ),
  scorer('token-load', 'token-load-scorer'),
  scorer('lmetric', 'lmetric-scorer'),
  scorer('dynamo', 'dynamo-cost-scorer', '1000'),
];
