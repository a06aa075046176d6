import {
  addressOfRank,
  DATA_PARALLEL_RANK,
  dataParallelRank,
} from '../../framework/data-parallel-rank.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import { ENCODE_HEADER, PREFILL_HEADER } from '../../framework/routing.ts';
import type { Decision } from '../../framework/scheduling.ts';

const NONE: readonly Endpoint[] = [];

/**
 * Where a request may go, in order. The proxy chooses among them, and sends the header that names
 * the rank of the first to each: so the others are the same rank of their servers, or are left out.
 */
export function targetsOf(
  { primary }: Decision,
  pool: () => readonly Endpoint[],
): readonly Endpoint[] {
  if (primary.kind !== 'picked') return NONE;
  const targets = primary.targets.map(({ endpoint }) => endpoint);
  const [first] = targets;
  if (first === undefined || targets.length === 1) return targets;
  const rank = dataParallelRank(first);
  if (rank === undefined) return targets;
  const byAddress = new Map([[first.address, first]]);
  for (const { address, labels } of targets) {
    if (byAddress.has(address) || dataParallelRank({ labels }) === undefined) continue;
    const wanted = `${address}#${rank}`;
    const same = pool().find((each) => each.address === address && addressOfRank(each) === wanted);
    if (same !== undefined) byAddress.set(address, same);
  }
  return [...byAddress.values()];
}

/** The decision's headers, and the one that names the rank. */
export function headersWithRank(
  { headers }: Pick<Decision, 'headers'>,
  endpoint: Endpoint,
): ReadonlyMap<string, string> {
  const rank = dataParallelRank(endpoint);
  if (rank === undefined) return headers;
  // A sidecar passes headers on to the servers of the other stages, which have ranks of their own.
  if (headers.has(PREFILL_HEADER) || headers.has(ENCODE_HEADER)) return headers;
  return new Map(headers).set(DATA_PARALLEL_RANK, String(rank));
}
