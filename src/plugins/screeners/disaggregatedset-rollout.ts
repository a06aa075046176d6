import type { Endpoint } from '../../framework/endpoint.ts';
import {
  type DataSourceDefinition,
  type DataSourceHost,
  defineScreener,
  type Screener,
} from '../../framework/plugin.ts';
import type { Random } from '../../framework/runtime.ts';
import type { SchedulingContext } from '../../framework/scheduling.ts';
import { parseLabelQuery } from '../parameters/label-query.ts';
import { revisionShares } from './revision-shares.ts';
import {
  type HeaderSelector,
  type RolloutConfig,
  requiredRolesOf,
  rolloutConfig,
  selectorsOf,
} from './rollout-config.ts';

export const ROLLOUT_SCREENER = 'disaggregatedset-rollout-screener';

/** The state of a rollout, for metrics. */
export interface RolloutReport {
  /** The name in the configuration. */
  readonly plugin: string;
  readonly mode: string;
  /** The share of requests by revision. */
  readonly shares: ReadonlyMap<string, number>;
  /** By strict selector, how many requests had a header that matched no endpoint. */
  readonly unmatched: ReadonlyMap<string, number>;
}

/**
 * Keeps each request on servers of one revision while a set of prefill and decode servers is rolled
 * out: each revision gets requests by its number of servers, once it has all roles. Answers name
 * their revision, and requests may ask for one.
 */
export const disaggregatedSetRollout: DataSourceDefinition = defineScreener({
  type: ROLLOUT_SCREENER,
  config: rolloutConfig,
  headers: (config) =>
    selectorsOf(config)
      .filter(({ mode }) => mode === 'strict')
      .map(({ headerName: name }) => ({ name, as: 'name' })),
  start: (config, host) => new RolloutScreener(config, host),
});

export class RolloutScreener implements Screener {
  readonly #config: RolloutConfig;
  readonly #host: DataSourceHost;
  readonly #selectors: readonly HeaderSelector[];
  /** Shares of the pool as it was at the last computation; undefined before the first. */
  #shares: ReadonlyMap<string, number> | undefined;
  readonly #unmatched = new Map<string, number>();

  constructor(config: RolloutConfig, host: DataSourceHost) {
    this.#config = config;
    this.#host = host;
    this.#selectors = selectorsOf(config);
  }

  screen(endpoints: readonly Endpoint[], context: SchedulingContext): readonly Endpoint[] {
    const { headers } = context.request;
    const asked = this.#selectors.filter(
      ({ mode, headerName }) => mode === 'strict' && (headers.get(headerName) ?? '') !== '',
    );
    let left = this.#ofRevision(endpoints, asked.length === 0 ? context.random : undefined);
    for (const { name, headerName, labelKey } of asked) {
      if (left.length === 0) break;
      left = left.filter(({ labels }) => labels.get(labelKey) === headers.get(headerName));
      // Counted for people: no decision depends on it.
      if (left.length === 0) this.#unmatched.set(name, (this.#unmatched.get(name) ?? 0) + 1);
    }
    return left;
  }

  responseHeaders(served: Endpoint): Iterable<readonly [name: string, value: string]> {
    return this.#selectors.flatMap(({ headerName, labelKey }) => {
      const value = served.labels.get(labelKey) ?? '';
      return value === '' ? [] : [[headerName, value] as const];
    });
  }

  onEndpointAdded(): void {
    this.#shares = undefined;
  }

  onEndpointRemoved(): void {
    this.#shares = undefined;
  }

  onEndpointChanged(endpoint: Endpoint, previous: Endpoint): void {
    if (endpoint.labels !== previous.labels) this.#shares = undefined;
  }

  rollout(): RolloutReport {
    const { mode } = this.#config.revisionGating;
    const shares = mode === 'disabled' ? new Map<string, number>() : this.#currentShares(mode);
    return { plugin: this.#host.name, mode, shares, unmatched: this.#unmatched };
  }

  stop(): void {
    // It holds nothing that has to be given back.
  }

  /** The endpoints of one revision, drawn by share; without `random`, of all that have a share. */
  #ofRevision(endpoints: readonly Endpoint[], random: Random | undefined): readonly Endpoint[] {
    const { mode, revisionLabelKey } = this.#config.revisionGating;
    if (mode === 'disabled') return endpoints;
    const shares = this.#currentShares(mode);
    const present = new Set(endpoints.map(({ labels }) => labels.get(revisionLabelKey) ?? ''));
    const open = [...present].filter((revision) => (shares.get(revision) ?? 0) > 0).sort();
    const allowed = random === undefined ? open : drawn(open, shares, random.fork(this.#host.name));
    return endpoints.filter(({ labels }) => allowed.includes(labels.get(revisionLabelKey) ?? ''));
  }

  #currentShares(mode: 'sum' | 'max-role'): ReadonlyMap<string, number> {
    const { scope, revisionGating } = this.#config;
    this.#shares ??= revisionShares(this.#host.pool.snapshot(), {
      mode,
      roles: requiredRolesOf(revisionGating),
      revisionLabelKey: revisionGating.revisionLabelKey,
      roleLabelKey: revisionGating.roleLabelKey,
      isInScope: parseLabelQuery(scope.labelSelector),
    });
    return this.#shares;
  }
}

/** Draws one of the revisions by their shares; undefined where there is none. */
function drawn(
  revisions: readonly string[],
  shares: ReadonlyMap<string, number>,
  random: Random,
): readonly string[] {
  let left = random.next() * revisions.reduce((sum, each) => sum + (shares.get(each) ?? 0), 0);
  for (const revision of revisions) {
    left -= shares.get(revision) ?? 0;
    if (left < 0) return [revision];
  }
  return revisions.slice(-1);
}
