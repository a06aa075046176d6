import type { Finding } from './finding.ts';
import { someNames } from './some-names.ts';

/** How the latest requests at an endpoint ended. */
export interface LatestRequests {
  /** Requests that were answered or failed. */
  readonly requests: number;
  /** By the status of the answer, or `no answer`, or `broken`. */
  readonly failed: Readonly<Record<string, number>>;
  /** Answers from 400 to 499, by status; left out by earlier versions. */
  readonly refused?: Readonly<Record<string, number>>;
  /** Requests that were picked for it, and that the proxy sent elsewhere. */
  readonly sentElsewhere: number;
  /** The time of the last failure; left out where none failed. */
  readonly lastFailed?: string;
}

export interface EndpointRequests {
  readonly address: string;
  readonly latest?: LatestRequests;
}

/** As the alert about it: from this share on it is an error. */
const MANY = 0.05;
/** A single request may fail by itself, such as one that is too large for its server. */
const FAILED_MIN = 3;
const NAMES_SHOWN = 3;

/** What became of the latest requests: a share that failed at their servers. */
export function checkRequests(endpoints: readonly EndpointRequests[]): readonly Finding[] {
  const counted = endpoints.map(({ address, latest }) => ({
    address,
    requests: latest?.requests ?? 0,
    kinds: Object.entries(latest?.failed ?? {}).toSorted(([, a], [, b]) => b - a),
    failed: Object.values(latest?.failed ?? {}).reduce((sum, each) => sum + each, 0),
  }));
  const total = counted.reduce((sum, { requests }) => sum + requests, 0);
  const failed = counted.reduce((sum, each) => sum + each.failed, 0);
  if (failed < FAILED_MIN) return [];
  const lastFailed = endpoints
    .map(({ latest }) => latest?.lastFailed ?? '')
    .toSorted()
    .at(-1);
  const most = counted
    .filter((each) => each.failed > 0)
    .toSorted((a, b) => b.failed - a.failed || b.failed / b.requests - a.failed / a.requests);
  const names = most.map(
    (each) => `${each.address} ${part(each.failed, each.requests)} (${kindsText(each.kinds)})`,
  );
  return [
    {
      severity: failed / total >= MANY ? 'error' : 'warning',
      id: 'requests-fail',
      where: `${most.length.toLocaleString('en')} of ${endpoints.length.toLocaleString('en')} endpoints`,
      what: `of the requests that ended in the last five minutes, at most the last 4,096, ${part(failed, total)} failed at model servers, the last one at ${lastFailed}: ${someNames(names, NAMES_SHOWN)}.`,
      mend: `${mendOf(most.length, endpoints.length)} \`pointsman explain\` lists the latest requests; see docs/runbooks.md#pointsman-model-server-errors.`,
    },
  ];
}

export function part(some: number, all: number): string {
  const share = Math.round((100 * some) / all);
  const percent = share === 0 ? 'less than 1' : String(share);
  return `${some.toLocaleString('en')} of ${all.toLocaleString('en')} (${percent} %)`;
}

export function kindsText(kinds: readonly (readonly [kind: string, count: number])[]): string {
  return kinds
    .map(([kind, count]) => {
      const name = /^\d+$/.test(kind) ? `status ${kind}` : kind;
      return `${count.toLocaleString('en')} × ${name}`;
    })
    .join(', ');
}

/** Where all fail, it is mostly no fault of a single server. */
function mendOf(failing: number, all: number): string {
  return failing === all && all > 1
    ? 'All fail: look at what they have in common, such as the model, its version, or one kind of request, and ask one of them yourself.'
    : 'Look at the logs of these servers, and ask one of them yourself: its answer has the error.';
}
