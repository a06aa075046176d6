import type { ProfileResult } from '../../framework/scheduling.ts';

/** Where to have the prompt computed first, as the routing sidecar reads it. */
const PREFILL_HEADER = 'x-prefiller-host-port';
/** Where to have images and the like encoded, comma-separated. */
const ENCODE_HEADER = 'x-encoder-hosts-ports';

/** What the sidecar beside the decoding server is told. A stage that was not run, or found nobody, is left out. */
export function disaggregationHeaders(stages: {
  readonly prefill: ProfileResult | undefined;
  readonly encode: ProfileResult | undefined;
}): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  const [prefill] = addressesOf(stages.prefill);
  if (prefill !== undefined) headers.set(PREFILL_HEADER, prefill);
  const encoders = addressesOf(stages.encode);
  if (encoders.length > 0) headers.set(ENCODE_HEADER, encoders.join(','));
  return headers;
}

function addressesOf(result: ProfileResult | undefined): readonly string[] {
  return result?.kind === 'picked' ? result.targets.map(({ endpoint }) => endpoint.address) : [];
}
