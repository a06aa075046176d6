import type { Sidecar } from '../../../src/sidecar/start-sidecar.ts';

/**
 * A completion whose prompt is computed at the prefilling server, and the KV that this answers
 * with.
 */

export const ASKED_BODY =
  '{"model":"m","prompt":"a prompt","seed":12345678901234567890,"max_tokens":20}';
export const KV = '{"do_remote_prefill":true,"remote_host":"10.0.0.9","remote_port":5600}';

/** A completion by its bytes, with these headers; `prefiller` is named for its prompt. */
export function askPrefilled(
  sidecar: Sidecar,
  prefiller: { readonly address: string },
  { body = ASKED_BODY, path = '/v1/completions', ...headers }: Record<string, string> = {},
): Promise<Response> {
  return fetch(`http://${sidecar.address}${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-prefiller-host-port': prefiller.address,
      ...headers,
    },
    body,
  });
}

export const KV_ANSWER: string = `{"kv_transfer_params":${KV}}`;
