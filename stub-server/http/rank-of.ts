import { ApiError } from './api-error.ts';
import type { Replica } from './replica.ts';

/** vLLM's header for the data-parallel rank. */
const RANK_HEADER = 'x-data-parallel-rank';

/** The rank that the header names. Each port of a server accepts requests for any of its ranks. */
export function rankOf(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  replica: Replica,
): Replica {
  const text = headers[RANK_HEADER];
  if (text === undefined) return replica;
  const rank = replica.ranks[text === '' ? -1 : Number(text)];
  if (rank !== undefined) return rank;
  const message = `${RANK_HEADER}: ${String(text)} is no rank of this server, which has 0 to ${replica.ranks.length - 1}`;
  throw new ApiError(400, message);
}
