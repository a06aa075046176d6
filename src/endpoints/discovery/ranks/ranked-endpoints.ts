import { RANK_COUNT_LABEL, RANK_LABEL } from '../../../framework/data-parallel-rank.ts';
import type { EndpointId } from '../../../framework/endpoint.ts';
import { ENGINE_COUNT_MAX } from '../../../framework/endpoint-attributes.ts';
import { ROLE_LABEL } from '../../../framework/roles.ts';
import type { EndpointSink, EndpointSpec } from '../../../picker/pool/endpoint-pool.ts';
import type { Log } from '../../../runtime/log/log.ts';

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

/** What discovery has listed, and what of it is in the pool. */
interface Listed {
  spec: EndpointSpec;
  /** Its own id, or those of its ranks if it has several, in their order. */
  readonly ids: EndpointId[];
}

/**
 * Puts each data-parallel rank of a server into the pool as an endpoint of its own: with the
 * server's address and labels, a label with its number, and the id `<id>-rank-<number>`, which has
 * zeros before the number where that is the id of a listed server. Servers of one rank pass as they
 * are.
 */
export class RankedEndpoints implements EndpointSink {
  readonly #options: RankedEndpointsOptions;
  readonly #listed = new Map<EndpointId, Listed>();
  /** The entries of servers with several ranks, by the ids of their ranks. */
  readonly #ranks = new Map<EndpointId, Listed>();

  constructor(options: RankedEndpointsOptions) {
    this.#options = options;
  }

  upsert(spec: EndpointSpec): void {
    const known = this.#listed.get(spec.id);
    const before = known?.ids.length ?? 0;
    const count = this.#countFor(spec, before > 1 ? before : 0);
    if (known !== undefined && before === count) {
      known.spec = spec;
      this.#put(known);
      return;
    }
    this.remove(spec.id);
    const listed: Listed = { spec, ids: [] };
    this.#listed.set(spec.id, listed);
    this.#giveWay(spec.id);
    if (count === 1) listed.ids.push(spec.id);
    else for (let rank = 0; rank < count; rank++) listed.ids.push(this.#rankId(listed, rank));
    this.#put(listed);
  }

  remove(id: EndpointId): void {
    const listed = this.#listed.get(id);
    if (listed === undefined) return;
    this.#listed.delete(id);
    for (const each of listed.ids) {
      this.#ranks.delete(each);
      this.#options.pool.remove(each);
    }
  }

  #put({ spec, ids }: Listed): void {
    const { pool } = this.#options;
    if (ids.length === 1) pool.upsert(spec);
    else for (const [rank, id] of ids.entries()) pool.upsert(rankOfServer(spec, rank, id));
  }

  /** An id for a rank, which no listed endpoint has. Other parts read server and rank in it. */
  #rankId(listed: Listed, rank: number): EndpointId {
    let digits = String(rank);
    const idNow = (): EndpointId => `${listed.spec.id}-rank-${digits}` as EndpointId;
    while (this.#listed.has(idNow())) digits = `0${digits}`;
    this.#ranks.set(idNow(), listed);
    return idNow();
  }

  /** A rank that has the id of an endpoint that is listed now gets another one. */
  #giveWay(id: EndpointId): void {
    const listed = this.#ranks.get(id);
    if (listed === undefined) return;
    const rank = listed.ids.indexOf(id);
    this.#ranks.delete(id);
    this.#options.pool.remove(id);
    const other = this.#rankId(listed, rank);
    listed.ids[rank] = other;
    this.#options.pool.upsert(rankOfServer(listed.spec, rank, other));
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
    if (count === 1 || this.#ranks.size - before + count <= RANKS_MAX) return count;
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
function rankOfServer(spec: EndpointSpec, rank: number, id: EndpointId): EndpointSpec {
  return {
    ...spec,
    id,
    labels: new Map(spec.labels).set(RANK_LABEL, String(rank)),
  };
}
