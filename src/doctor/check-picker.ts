import { checkAnswersRefused } from './check-answers-refused.ts';
import { checkCounters } from './check-counters.ts';
import { checkRefusedFiles, checkTroubles, type ReadyAnswer, reasonsOf } from './check-ready.ts';
import { checkRefused, type DecidedRequests } from './check-refused.ts';
import { checkRequests, type LatestRequests } from './check-requests.ts';
import { type Finding, when } from './finding.ts';
import { someNames } from './some-names.ts';

/** What a picker's metrics port says. */
export interface PickerState {
  /** `/readyz`: its status and text. */
  readonly ready: ReadyAnswer;
  /** `/debug/endpoints`. */
  readonly endpoints: readonly DescribedEndpoint[];
  /** `/metrics`; another text where it is closed. */
  readonly metrics?: string;
  /** Left out by earlier versions, and where the picker keeps no decisions. */
  readonly latest?: DecidedRequests | undefined;
}

export interface DescribedEndpoint {
  readonly id: string;
  readonly address: string;
  /** Left out for an endpoint that was never scraped. */
  readonly metricsAgeMs?: number;
  /** Pickers of earlier versions do not say `why`, which has the reason in words. */
  readonly ejected:
    | false
    | { readonly reason: string; readonly why?: string; readonly since: string };
  readonly scrapes: {
    readonly state: string;
    readonly lastError?: { readonly failure: string; readonly reason: string };
  };
  /** Left out by earlier versions, and where the picker keeps no decisions. */
  readonly latest?: LatestRequests;
}

/** How `/readyz` begins its reason for an empty pool where it has one. */
const EMPTY_FOR = 'there are no endpoints: ';
/** Twenty scrapes that have brought nothing. */
const AGE_MS_MAX = 1000;
/** More endpoints with one fault are counted. */
const NAMES_SHOWN = 3;
/** Where no endpoint is left, so many are shown: each may have another cause. */
const NAMES_SHOWN_OF_ALL = 10;
/** Texts of errors may be of any length. */
const REASON_CHARACTERS_MAX = 300;

/** What is wrong with the pool as the picker sees it. */
export function checkPicker({
  ready,
  endpoints,
  metrics = '',
  latest,
}: PickerState): readonly Finding[] {
  const down = endpoints.filter((each) => each.ejected !== false && isSilent(each));
  const others = endpoints.filter((each) => !down.includes(each));
  const never = others.filter(({ metricsAgeMs }) => metricsAgeMs === undefined);
  const old = others.filter(({ metricsAgeMs = 0 }) => metricsAgeMs > AGE_MS_MAX);
  const ejected = others.filter((endpoint) => endpoint.ejected !== false);
  const isNoneLeft = endpoints.length > 0 && endpoints.every(isLost);
  return [
    ...when(ready.status !== 200, {
      severity: 'error',
      id: 'picker-not-ready',
      where: 'picker',
      what: `/readyz answers ${ready.status}: ${reasonsOf(ready.text)}`,
      mend: 'See docs/troubleshooting.md#the-picker-is-not-ready.',
    }),
    ...checkRefusedFiles(ready),
    ...checkTroubles(ready),
    ...checkRefused(latest),
    ...checkCounters(metrics),
    // Where `/readyz` has a cause, it says what to do.
    ...when(endpoints.length === 0 && !ready.text.includes(EMPTY_FOR), {
      severity: 'error',
      id: 'no-endpoints',
      where: 'picker',
      what: 'its pool is empty: every request is refused with 503.',
      mend: 'Give --endpoints or --endpoints-file, or correct the selector of the InferencePool.',
    }),
    // One cause has one finding: the pool contains what else would be said of its endpoints.
    ...(isNoneLeft
      ? [lostPool(endpoints)]
      : [
          ...group(down, DOWN, endpoints),
          ...group(never, UNKNOWN, endpoints),
          ...group(old, OLD, endpoints),
          ...group(ejected, EJECTED, endpoints),
          ...checkRequests(endpoints),
          ...checkAnswersRefused(endpoints),
        ]),
  ];
}

/**
 * Whether nothing answers there, or requests failed. A server whose metrics are refused or cannot
 * be read answers, and old metrics alone may be those of a long interval.
 */
function isLost(endpoint: DescribedEndpoint): boolean {
  return endpoint.ejected !== false || isSilent(endpoint);
}

function isSilent({ scrapes }: DescribedEndpoint): boolean {
  return scrapes.state === 'failing' && scrapes.lastError?.failure === 'unreachable';
}

function lostPool(endpoints: readonly DescribedEndpoint[]): Finding {
  return {
    severity: 'error',
    id: 'pool-unreachable',
    where: shareOf(endpoints, endpoints),
    what: `none can be reached, so that every request is likely to fail: ${listed(endpoints, NAMES_SHOWN_OF_ALL, lostReason)}.`,
    mend: 'Start the model servers, or correct their addresses and ports, --scrape-scheme and the network policy; see docs/troubleshooting.md#every-request-fails-with-500-or-503.',
  };
}

/** What several endpoints have in common. */
interface Fault {
  readonly severity: (share: number) => Finding['severity'];
  readonly id: string;
  readonly what: string;
  readonly reasonOf: (endpoint: DescribedEndpoint) => string;
  readonly mend: (found: readonly DescribedEndpoint[]) => string;
}

const METRICS_PAGE = 'see docs/troubleshooting.md#an-endpoint-has-no-metrics.';

const UNKNOWN: Fault = {
  severity: () => 'error',
  id: 'metrics-unreachable',
  what: 'their metrics are not known',
  reasonOf: scrapeReason,
  mend: mendOfMetrics,
};
const OLD: Fault = {
  ...UNKNOWN,
  severity: () => 'warning',
  id: 'metrics-old',
  what: 'metrics are old',
};
const EJECTED: Fault = {
  severity: () => 'warning',
  id: 'endpoint-ejected',
  what: 'ejected',
  reasonOf: lostReason,
  mend: () => 'See docs/troubleshooting.md#an-endpoint-gets-no-requests.',
};
/** Half of the pool, as the alert about it. */
const MANY = 0.5;
const DOWN: Fault = {
  severity: (share) => (share >= MANY ? 'error' : 'warning'),
  id: 'endpoint-down',
  what: 'neither requests nor scrapes reach them',
  reasonOf: (endpoint) => `${lostReason(endpoint)}; ${scrapeReason(endpoint)}`,
  mend: () =>
    'Look whether these servers run: their log, their node, a zone or version that they share; see docs/runbooks.md#pointsman-half-the-pool-ejected.',
};

/** A page that is read and means nothing needs no way to it. */
function mendOfMetrics(found: readonly DescribedEndpoint[]): string {
  const failures = found.map(({ scrapes }) => scrapes.lastError?.failure);
  return failures.some((each) => each === undefined || WITHOUT_PAGE.includes(each))
    ? `Let the picker reach /metrics of the model servers: port, network policy, --scrape-scheme and the token; ${METRICS_PAGE}`
    : `Their pages are there and cannot be used: the engine, or what answers in its place, has changed them; ${METRICS_PAGE}`;
}

/** Failures of scrapes that get no page. */
const WITHOUT_PAGE: readonly string[] = ['unreachable', 'status'];

function group(
  found: readonly DescribedEndpoint[],
  { severity, id, what, reasonOf, mend }: Fault,
  all: readonly DescribedEndpoint[],
): readonly Finding[] {
  if (found.length === 0) return [];
  const most = found.length === all.length ? NAMES_SHOWN_OF_ALL : NAMES_SHOWN;
  return [
    {
      severity: severity(found.length / all.length),
      id,
      where: shareOf(found, all),
      what: `${what}: ${listed(found, most, reasonOf)}.`,
      mend: mend(found),
    },
  ];
}

function shareOf(found: readonly unknown[], all: readonly unknown[]): string {
  return `${found.length.toLocaleString('en')} of ${all.length.toLocaleString('en')} endpoints`;
}

/** Endpoints with what is wrong with each, `most` of them. */
function listed(
  endpoints: readonly DescribedEndpoint[],
  most: number,
  reasonOf: Fault['reasonOf'],
): string {
  return someNames(
    endpoints.map((each) => `${each.address} (${reasonOf(each)})`),
    most,
  );
}

function lostReason(endpoint: DescribedEndpoint): string {
  const { ejected } = endpoint;
  if (ejected === false) return scrapeReason(endpoint);
  return `${ejected.why ?? ejected.reason}, since ${ejected.since}`;
}

function scrapeReason({ metricsAgeMs, scrapes }: DescribedEndpoint): string {
  const age = metricsAgeMs === undefined ? '' : `${(metricsAgeMs / 1000).toFixed(1)} s old, `;
  const { failure, reason } = scrapes.lastError ?? { failure: scrapes.state, reason: '' };
  const cause = reason.slice(0, REASON_CHARACTERS_MAX);
  return `${age}${failure}${cause === '' ? '' : `: ${cause}`}`;
}
