import { randomInt, randomUUID } from 'node:crypto';
import { isPlainObject } from '../../framework/values/plain-object.ts';
import { bareHostOf, hostOf } from '../../framework/values/server-address.ts';
import { objectIn } from '../body/client-body.ts';
import { cappedToOneToken, withTransfer } from '../body/generation-api.ts';
import { type Asked, type KvContract, type Legs } from './kv-contract.ts';

/** GETs `/query` of a bootstrap server, `host:port`. Rejects unless it answers 200 in time. */
export type BootstrapQuery = (server: string, signal: AbortSignal) => Promise<Buffer>;

interface Rank {
  readonly rank: string;
  readonly engineId: string;
}

/** Requests name the servers, so their number is bounded. */
const SERVERS_MAX = 1024;
/** Pins a request to a data-parallel rank of vLLM. */
export const RANK_HEADER = 'x-data-parallel-rank';

/**
 * Mooncake: both legs are sent at once and share an id. The decode leg names the engine that
 * computes the prompt, which the bootstrap server of the prefilling pod knows.
 */
export function mooncakeContract(bootstrapPort: number, query: BootstrapQuery): KvContract {
  const known = new KnownRanks(query);

  async function legsOf({ body, api, prefiller, signal }: Asked): Promise<Legs> {
    const bootstrap = `${hostOf(prefiller)}:${bootstrapPort}`;
    const ranks = await known.of(prefiller, bootstrap, signal);
    const chosen = ranks[randomInt(ranks.length)];
    if (chosen === undefined) throw new Error(`${bareHostOf(prefiller)} has no ranks`);
    return legsTo({ bootstrap, rank: chosen }, { body, api });
  }

  return {
    name: 'mooncake',
    decodesFirst: false,
    countsCached: false,
    legsOf,
    // An engine that has started again has another id.
    forget: (prefiller) => known.forget(prefiller),
  };
}

interface ChosenRank {
  /** The bootstrap server of the prefilling pod, `host:port`. */
  readonly bootstrap: string;
  readonly rank: Rank;
}

function legsTo(
  { bootstrap, rank: { rank, engineId } }: ChosenRank,
  { body, api }: Pick<Asked, 'body' | 'api'>,
): Legs {
  const transfer = { transfer_id: `xfer-${randomUUID()}` };
  const prefill = { do_remote_prefill: false, do_remote_decode: true, ...transfer };
  const decode = {
    do_remote_prefill: true,
    do_remote_decode: false,
    ...transfer,
    remote_bootstrap_addr: `http://${bootstrap}`,
    remote_engine_id: engineId,
  };
  const transferOf = (params: object) => ({ kv_transfer_params: JSON.stringify(params) });
  return {
    atOnce: true,
    prefill: {
      body: cappedToOneToken(body, api, transferOf(prefill)),
      headers: { [RANK_HEADER]: rank },
    },
    decode: () => ({ body: withTransfer(body, api, transferOf(decode)), headers: {} }),
  };
}

/** The ranks of prefilling servers, as their bootstrap servers have named them once. */
class KnownRanks {
  readonly #known = new Map<string, readonly Rank[]>();
  readonly #query: BootstrapQuery;

  constructor(query: BootstrapQuery) {
    this.#query = query;
  }

  async of(prefiller: string, bootstrap: string, signal: AbortSignal): Promise<readonly Rank[]> {
    const found = this.#known.get(prefiller);
    if (found !== undefined) return found;
    const ranks = ranksIn(await this.#query(bootstrap, signal));
    if (this.#known.size >= SERVERS_MAX) this.#known.delete([...this.#known.keys()][0] ?? '');
    this.#known.set(prefiller, ranks);
    return ranks;
  }

  forget(prefiller: string): void {
    this.#known.delete(prefiller);
  }
}

/** Throws where the bootstrap server names no engine. */
function ranksIn(answer: Buffer): readonly Rank[] {
  const ranks = Object.entries(objectIn(answer) ?? {}).flatMap(([rank, entry]) => {
    const engineId = isPlainObject(entry) ? entry['engine_id'] : undefined;
    return typeof engineId === 'string' ? [{ rank, engineId }] : [];
  });
  if (ranks.length === 0) throw new Error('the bootstrap server names no engine_id');
  return ranks;
}
