import { RANK_COUNT_LABEL, RANK_LABEL } from '../../../framework/data-parallel-rank.ts';
import type { EndpointId } from '../../../framework/endpoint.ts';
import { ENGINE_COUNT_MAX } from '../../../framework/endpoint-attributes.ts';
import { ROLE_LABEL } from '../../../framework/roles.ts';
import type { EndpointPool, EndpointSpec } from '../../../picker/pool/endpoint-pool.ts';
import type { Log } from '../../../runtime/log/log.ts';

type EndpointSink = Pick<EndpointPool, 'upsert' | 'remove'>;

/** Twice the pools that are measured: a decision looks at each of them. */
const RANKS_MAX = 2048;
/** A server with another role has a sidecar, which would pass the header on to other servers. */
const ROLES: ReadonlySet<string | undefined> = new Set([undefined, '', 'both']);

interface RankedEndpointsOptions {
  readonly pool: EndpointSink;
  /** Ranks of each server without a label that says how many it has. */
  readonly size: number;
  readonly log: Pick<Log, 'warn'>;
}

/**
 * Puts each data-parallel rank of a server into the pool as an endpoint of its own: with the
 * server's address and labels, a label with its number, and the id `<id>-rank-<number>`. Servers
 * of one rank pass as they are.
 */
export class RankedEndpoints implements EndpointSink {
  readonly #options: RankedEndpointsOptions;
  /** The ids of those with several ranks. */
  readonly #ranks = new Map<EndpointId, readonly EndpointId[]>();
  #total = 0;

  constructor(options: RankedEndpointsOptions) {
    this.#options = options;
  }

  upsert(spec: EndpointSpec): void {
    const { pool } = this.#options;
    const before = this.#ranks.get(spec.id) ?? [];
    const count = this.#countFor(spec, before.length);
    if (before.length > 0 && count !== before.length) this.remove(spec.id);
    if (count === 1) {
      pool.upsert(spec);
      return;
    }
    if (before.length === 0) pool.remove(spec.id);
    const ranks = Array.from({ length: count }, (_, rank) => rankOfServer(spec, rank));
    if (count !== before.length) this.#total += count;
    this.#ranks.set(
      spec.id,
      ranks.map(({ id }) => id),
    );
    for (const each of ranks) pool.upsert(each);
  }

  remove(id: EndpointId): void {
    const { pool } = this.#options;
    const ranks = this.#ranks.get(id) ?? [id];
    if (this.#ranks.delete(id)) this.#total -= ranks.length;
    for (const each of ranks) pool.remove(each);
  }

  #countFor({ id, labels }: EndpointSpec, before: number): number {
    const { size, log } = this.#options;
    if (!ROLES.has(labels.get(ROLE_LABEL))) return 1;
    const given = labels.get(RANK_COUNT_LABEL);
    const count = given === undefined ? size : Number(given);
    if (!isRankCount(count)) {
      const fields = { endpoint: id, label: RANK_COUNT_LABEL, value: given };
      log.warn(fields, `the label is no number from 1 to ${ENGINE_COUNT_MAX}; it counts as 1`);
      return 1;
    }
    if (count === 1 || this.#total - before + count <= RANKS_MAX) return count;
    const message = `the pool has ${RANKS_MAX} ranks, which is the bound; this server is one endpoint, and chooses its rank itself`;
    log.warn({ endpoint: id, ranks: count }, message);
    return 1;
  }
}

/** Whether a server can have so many ranks. */
export function isRankCount(count: number): boolean {
  return Number.isInteger(count) && count >= 1 && count <= ENGINE_COUNT_MAX;
}

/** The endpoint that one rank of a server is. */
function rankOfServer(spec: EndpointSpec, rank: number): EndpointSpec {
  return {
    ...spec,
    id: `${spec.id}-rank-${rank}` as EndpointId,
    labels: new Map(spec.labels).set(RANK_LABEL, String(rank)),
  };
}
