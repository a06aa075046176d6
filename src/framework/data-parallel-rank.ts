import type { Endpoint } from './endpoint.ts';

/** On a server: how many data-parallel ranks it has behind its one address. */
export const RANK_COUNT_LABEL = 'pointsman.dev/data-parallel-size';
/** On an endpoint that is one rank of a server: its number, from 0. */
export const RANK_LABEL = 'pointsman.dev/data-parallel-rank';
/** Names the rank to vLLM's and SGLang's API server, which else chooses one itself. */
export const DATA_PARALLEL_RANK = 'x-data-parallel-rank';

/** The rank that an endpoint is of its server; undefined where it is the whole server. */
export function dataParallelRank({ labels }: Pick<Endpoint, 'labels'>): number | undefined {
  const text = labels.get(RANK_LABEL);
  return text !== undefined && /^\d{1,4}$/.test(text) ? Number(text) : undefined;
}

/** The address of an endpoint, and its rank where several endpoints have this address. */
export function addressOfRank(endpoint: Pick<Endpoint, 'address' | 'labels'>): string {
  const rank = dataParallelRank(endpoint);
  return rank === undefined ? endpoint.address : `${endpoint.address}#${rank}`;
}
