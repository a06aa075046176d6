import type { ConfigNote } from '../../picker/plan/config-note.ts';
import { isGiven, parameterAt } from './parameter-at.ts';

/** Parameters that count only where another parameter has some value. */
interface Branch {
  readonly paths: readonly string[];
  /** Whether it counts beside the other parameters. */
  readonly counts: (of: (path: string) => unknown) => boolean;
  /** What has to be written before it counts. */
  readonly only: string;
  /** Its default: a configuration that has this value gets no note. */
  readonly usual?: unknown;
}

type Branches = readonly Branch[];

/** A parameter at `path` has one of `values`, or is left out: then it has the first of them. */
function oneOf(path: string, ...values: readonly (string | boolean)[]): Branch['counts'] {
  return (of) => !isGiven(of(path)) || given(path, ...values)(of);
}

/** A parameter at `path` has one of `values`, of which it has none where it is left out. */
function given(path: string, ...values: readonly (string | boolean)[]): Branch['counts'] {
  return (of) => values.some((value) => of(path) === value);
}

const above0 =
  (path: string): Branch['counts'] =>
  (of) =>
    Number(of(path) ?? 0) > 0;

const session: Branches = [
  {
    paths: ['sessionIdConfig'],
    counts: given('strategy', 'session_id'),
    only: 'strategy: session_id',
    usual: {
      sources: [{ header: 'x-session-id' }],
      evictionTtlSeconds: 300,
      evictionSweepSeconds: 10,
    },
  },
  {
    paths: ['encodedEndpointHeaderConfig.header'],
    counts: oneOf('strategy', 'encoded_endpoint_header'),
    only: 'strategy: encoded_endpoint_header',
    usual: 'x-session-token',
  },
];
const matchLength: Branches = [
  {
    paths: ['matchLengthScaleTokens'],
    counts: above0('matchLengthWeight'),
    only: 'a matchLengthWeight above 0',
    usual: 8192,
  },
];
const HTTPS = { counts: given('scheme', 'https'), only: 'scheme: https' };
const OVER_HTTPS: Branches = [
  { paths: ['caCertPath', 'clientCertPath', 'clientKeyPath', 'serverName'], ...HTTPS },
  // Charts of the reference write its default, which without HTTPS promises nothing.
  { paths: ['insecureSkipVerify'], ...HTTPS, usual: true },
];
/** What a medium counts as, in `estimate` of a token-producer: by its size, or as a constant. */
const bySize = (at: string, size: readonly string[]): Branches => [
  {
    paths: [`${at}.static`],
    counts: given(`${at}.mode`, 'static'),
    only: `${at}.mode: static`,
  },
  {
    paths: ['dynamic', ...size].map((name) => `${at}.${name}`),
    counts: oneOf(`${at}.mode`, 'dynamic'),
    only: `${at}.mode: dynamic`,
  },
];
const tokens: Branches = [
  ...bySize('estimate.image', ['defaultResolution']),
  ...bySize('estimate.video.tokensPerFrame', []),
  ...bySize('estimate.audio', ['defaultDuration', 'maxAudioTokens']),
  {
    paths: ['estimate.video.frames.sampled'],
    counts: oneOf('estimate.video.frames.mode', 'sampled'),
    only: 'estimate.video.frames.mode: sampled',
  },
  {
    paths: ['estimate.video.frames.strided'],
    counts: given('estimate.video.frames.mode', 'strided'),
    only: 'estimate.video.frames.mode: strided',
  },
];
const precise: Branches = [
  {
    paths: ['speculativeTTL'],
    counts: given('speculativeIndexing', true),
    only: 'speculativeIndexing: true',
  },
  {
    paths: ['socketPort', 'replaySocketPort'].map(
      (name) => `kvEventsConfig.podDiscoveryConfig.${name}`,
    ),
    counts: oneOf('kvEventsConfig.discoverPods', true),
    only: 'kvEventsConfig.discoverPods: true',
  },
];

/** By type, the parameters that another parameter switches off, as in the reference. */
const BRANCHES: Readonly<Record<string, Branches>> = {
  'concurrency-detector': [
    {
      paths: ['maxConcurrency'],
      counts: oneOf('concurrencyMode', 'requests', 'hybrid'),
      only: 'concurrencyMode: requests or hybrid',
      usual: 100,
    },
    {
      paths: ['maxTokenConcurrency'],
      counts: given('concurrencyMode', 'tokens', 'hybrid'),
      only: 'concurrencyMode: tokens or hybrid',
      usual: 1_000_000,
    },
  ],
  'dcgm-data-source': OVER_HTTPS,
  'disaggregatedset-rollout-screener': [
    {
      paths: ['requireRoles', 'requiredRoles', 'roleLabelKey'].map((it) => `revisionGating.${it}`),
      counts: given('revisionGating.mode', 'sum', 'max-role'),
      only: 'revisionGating.mode: sum or max-role',
      usual: 'disaggregatedset.x-k8s.io/role',
    },
    {
      paths: ['revisionGating.revisionHeaderName'],
      counts: (of) => !isGiven(of('headerSelectors')),
      only: 'headerSelectors left out',
    },
  ],
  'inflight-load-producer': [
    {
      paths: ['outputRatio', 'maxEstimatedOutputTokens'],
      counts: given('addEstimatedOutputTokens', true),
      only: 'addEstimatedOutputTokens: true',
    },
  ],
  'metrics-data-source': OVER_HTTPS,
  'models-data-source': OVER_HTTPS,
  'multicluster-prefix-cache-scorer': matchLength,
  'multicluster-session-affinity-filter': session,
  'precise-prefix-cache-producer': precise,
  'precise-prefix-cache-scorer': precise,
  'prefix-based-pd-decider': [
    {
      paths: ['promptTokens'],
      counts: above0('nonCachedTokens'),
      only: 'nonCachedTokens above 0, without which every prompt is computed where it is decoded',
      usual: 0,
    },
  ],
  'prefix-cache-affinity-filter': [
    {
      paths: ['peakPrefillThroughput'],
      counts: oneOf('ttftSource', 'prefillThroughput'),
      only: 'ttftSource: prefillThroughput',
      usual: 15_928,
    },
  ],
  'prefix-cache-scorer': matchLength,
  'program-aware-fairness': [
    {
      paths: ['lasWeightService', 'lasWeightHeadWait'],
      counts: oneOf('strategy', 'las'),
      only: 'strategy: las',
    },
    {
      paths: ['turnPriorityTimeWeight', 'turnPriorityInactivitySeconds'],
      counts: given('strategy', 'turn-priority'),
      only: 'strategy: turn-priority',
    },
    {
      paths: ['lasDecayFactor'],
      counts: (of) => of('lasHalfLifeSeconds') === 0,
      only: 'lasHalfLifeSeconds: 0',
      usual: 1,
    },
  ],
  'session-affinity-filter': session,
  'session-affinity-scorer': session,
  'token-producer': tokens,
  tokenizer: tokens,
};

/** A note for each parameter that this plugin type reads only with another value of a second one. */
export function switchedOff(
  type: string,
  parameters: unknown,
  path: string,
): readonly ConfigNote[] {
  const of = (at: string): unknown => parameterAt(parameters, at);
  // A type may have the name of something that every object has.
  const branches = Object.hasOwn(BRANCHES, type) ? BRANCHES[type] : undefined;
  return (branches ?? []).flatMap(({ paths, counts, only, usual }) => {
    if (counts(of)) return [];
    const idle = paths.filter((name) => isGiven(of(name)) && !isSame(of(name), usual));
    return idle.map((name) => switchedOffAt(`${path}.${name}`, only));
  });
}

/** A note for what stands at a path, and counts only with something else. */
export function switchedOffAt(path: string, only: string): ConfigNote {
  return {
    path,
    reason: 'switched-off',
    text: `${path} has no effect: it counts only with ${only}`,
  };
}

function isSame(value: unknown, usual: unknown): boolean {
  return JSON.stringify(value) === JSON.stringify(usual);
}
