import { checkRefusedFiles, checkTroubles, type ReadyAnswer, reasonsOf } from './check-ready.ts';
import { type Finding, when } from './finding.ts';

/** What a picker's metrics port says. */
export interface PickerState {
  /** `/readyz`: its status and text. */
  readonly ready: ReadyAnswer;
  /** `/debug/endpoints`. */
  readonly endpoints: readonly DescribedEndpoint[];
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
export function checkPicker({ ready, endpoints }: PickerState): readonly Finding[] {
  const never = endpoints.filter(({ metricsAgeMs }) => metricsAgeMs === undefined);
  const old = endpoints.filter(({ metricsAgeMs = 0 }) => metricsAgeMs > AGE_MS_MAX);
  const ejected = endpoints.filter((endpoint) => endpoint.ejected !== false);
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
          ...group(never, 'error', 'metrics-unreachable', 'their metrics are not known', endpoints),
          ...group(old, 'warning', 'metrics-old', 'metrics are old', endpoints),
          ...group(ejected, 'warning', 'endpoint-ejected', 'ejected', endpoints),
        ]),
  ];
}

/**
 * Whether nothing answers there, or requests failed. A server whose metrics are refused or cannot
 * be read answers, and old metrics alone may be those of a long interval.
 */
function isLost({ ejected, scrapes }: DescribedEndpoint): boolean {
  const isSilent = scrapes.state === 'failing' && scrapes.lastError?.failure === 'unreachable';
  return ejected !== false || isSilent;
}

function lostPool(endpoints: readonly DescribedEndpoint[]): Finding {
  return {
    severity: 'error',
    id: 'pool-unreachable',
    where: shareOf(endpoints, endpoints),
    what: `none can be reached, so that every request is likely to fail: ${listed(endpoints, NAMES_SHOWN_OF_ALL)}.`,
    mend: 'Start the model servers, or correct their addresses and ports, --scrape-scheme and the network policy; see docs/troubleshooting.md#every-request-fails-with-503.',
  };
}

function group(
  found: readonly DescribedEndpoint[],
  severity: Finding['severity'],
  id: string,
  what: string,
  all: readonly DescribedEndpoint[],
): readonly Finding[] {
  if (found.length === 0) return [];
  const most = found.length === all.length ? NAMES_SHOWN_OF_ALL : NAMES_SHOWN;
  return [
    {
      severity,
      id,
      where: shareOf(found, all),
      what: `${what}: ${listed(found, most)}.`,
      mend:
        id === 'endpoint-ejected'
          ? 'See docs/troubleshooting.md#an-endpoint-gets-no-requests.'
          : 'Let the picker reach /metrics of the model servers: port, network policy, --scrape-scheme and the token; see docs/troubleshooting.md#an-endpoint-has-no-metrics.',
    },
  ];
}

function shareOf(found: readonly unknown[], all: readonly unknown[]): string {
  return `${found.length.toLocaleString('en')} of ${all.length.toLocaleString('en')} endpoints`;
}

/** Endpoints with what is wrong with each, `most` of them. */
function listed(endpoints: readonly DescribedEndpoint[], most: number): string {
  const shown = endpoints.slice(0, most).map((each) => `${each.address} (${reasonOf(each)})`);
  const more = endpoints.length - shown.length;
  return `${shown.join(', ')}${more === 0 ? '' : ` and ${more.toLocaleString('en')} more`}`;
}

function reasonOf({ ejected, metricsAgeMs, scrapes }: DescribedEndpoint): string {
  if (ejected !== false) return `${ejected.why ?? ejected.reason}, since ${ejected.since}`;
  const age = metricsAgeMs === undefined ? '' : `${(metricsAgeMs / 1000).toFixed(1)} s old, `;
  const { failure, reason } = scrapes.lastError ?? { failure: scrapes.state, reason: '' };
  const cause = reason.slice(0, REASON_CHARACTERS_MAX);
  return `${age}${failure}${cause === '' ? '' : `: ${cause}`}`;
}
