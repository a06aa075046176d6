import type { Endpoint } from '../../framework/endpoint.ts';
import { ENCODE_HEADER, PREFILL_HEADER } from '../../framework/routing.ts';

/** Headers that name the endpoints of the other stages for the decoding server's sidecar. */
export function stageHeaders({
  prefill,
  encoders = [],
}: {
  readonly prefill?: Endpoint | undefined;
  readonly encoders?: readonly Endpoint[] | undefined;
}): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  if (prefill !== undefined) headers.set(PREFILL_HEADER, prefill.address);
  if (encoders.length > 0) {
    headers.set(ENCODE_HEADER, encoders.map(({ address }) => address).join(','));
  }
  return headers;
}
