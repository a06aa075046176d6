import type { PoolName } from '../../endpoints/discovery/kubernetes/pool/pool-sources.ts';
import { fnvHash } from '../../framework/values/fnv-hash.ts';

/** The most characters that Kubernetes allows in the name of an object. */
const NAME_CHARS_MAX = 253;
const HASH_CHARS = 16;
const GROUP = '.llm-d.ai';

/**
 * The name of the reference's Lease for a pool. The reference has none where that is too long for
 * Kubernetes; here its beginning stands before a hash of the pool.
 */
export function leaseNameOf({ namespace, name }: Pick<PoolName, 'namespace' | 'name'>): string {
  const pool = `epp-${namespace}-${name}`;
  if (pool.length + GROUP.length <= NAME_CHARS_MAX) return pool + GROUP;
  const hash = hexOf(fnvHash(pool)) + hexOf(fnvHash(`${name}/${namespace}`));
  const begins = pool.slice(0, NAME_CHARS_MAX - GROUP.length - HASH_CHARS - 1);
  // A part of the name that a dot ends may end neither in a dot nor in a dash.
  return `${begins.replace(/[-.]+$/, '')}-${hash}${GROUP}`;
}

const hexOf = (hash: number): string => hash.toString(16).padStart(HASH_CHARS / 2, '0');
