import type { Sidecar } from '../../../src/sidecar/start-sidecar.ts';

/** What tests send to a sidecar as clients, and what they read of its metrics. */

export const ASKED = { model: 'm', prompt: 'a prompt', max_tokens: 20 } as const;

export interface Sent {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  readonly path?: string;
  readonly redirect?: 'manual';
}

/** A POST; by default a completion with the body `ASKED`. */
export function complete(
  sidecar: Sidecar,
  { body = ASKED, headers, signal, path, redirect }: Sent = {},
): Promise<Response> {
  return fetch(`http://${sidecar.address}${path ?? '/v1/completions'}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...(signal && { signal }),
    ...(redirect && { redirect }),
  });
}

/** The header of a request whose prompt is to be computed at this server. */
export function prefilledAt({ address }: { readonly address: string }): Pick<Sent, 'headers'> {
  return { headers: { 'x-prefiller-host-port': address } };
}

/** The value of the line of the metrics page that begins so; NaN without one. */
export async function metric(sidecar: Sidecar, line: string): Promise<number> {
  const page = await sidecar.registry.metrics();
  return Number(
    page
      .split('\n')
      .find((each) => each.startsWith(`${line} `))
      ?.slice(line.length),
  );
}

export function openRequests(sidecar: Sidecar): Promise<number> {
  return metric(sidecar, 'pointsman_sidecar_open_requests');
}

export function outcomes(sidecar: Sidecar, outcome: string): Promise<number> {
  return metric(sidecar, `pointsman_sidecar_requests_total{outcome="${outcome}"}`);
}
