import type { GenerationTerms } from './read-generation.ts';
import type { Replica } from './replica.ts';

/** Of an embedding of 4,096 numbers of two bytes. */
const BYTES_PER_TOKEN = 8192;

/**
 * The field of an answer that says where the results of an encoder are, by the hash of each medium,
 * as vLLM's connector for encoder caches gives it. Empty for other servers and without media.
 */
export function encodingsOf(
  { media = [] }: Pick<GenerationTerms, 'media'>,
  { options, address, name }: Pick<Replica, 'options' | 'address' | 'name'>,
): { readonly ec_transfer_params?: object } {
  if (!options.servesEncodings || media.length === 0) return {};
  const colon = address.lastIndexOf(':');
  const place = { peer_host: address.slice(0, colon), peer_port: Number(address.slice(colon + 1)) };
  const metadata = Buffer.from(name).toString('base64');
  const params = media.map(({ hash, tokens }) => [
    hash,
    { ...place, size_bytes: tokens * BYTES_PER_TOKEN, nixl_agent_metadata_b64: metadata },
  ]);
  return { ec_transfer_params: Object.fromEntries(params) };
}
