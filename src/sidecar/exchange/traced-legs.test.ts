import { expect, test } from 'vitest';
import { eventually } from '../../../bench/support/stack.ts';
import { sidecarBed } from '../../../test/support/sidecar/sidecar-bed.ts';
import type { LegTracing } from '../options/sidecar-options.ts';

/** Which spans a request has, as the sidecar begins and ends them. */

const bed = sidecarBed();

interface Ended {
  readonly name: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly failure: string | undefined;
}

/** Keeps all spans that have ended, in their order. */
function tracing(): { readonly tracing: LegTracing; readonly ended: Ended[] } {
  const ended: Ended[] = [];
  const end = (name: string, before = {}) => {
    return (more: object, failure?: string) =>
      void ended.push({ name, attributes: { ...before, ...more }, failure });
  };
  const begin: LegTracing['begin'] = () => ({
    leg: (stage, attributes) => ({
      headers: { traceparent: `span-of-${stage}` },
      end: end(stage, attributes),
    }),
    end: end('request'),
  });
  return { tracing: { begin }, ended };
}

function ask(address: string): Promise<Response> {
  return fetch(`http://${address}/v1/completions?a=1`, {
    method: 'POST',
    headers: {
      traceparent: 'of-the-client',
      'x-request-id': 'r1',
      'x-prefiller-host-port': bed.prefiller.address,
    },
    body: '{"prompt":"a"}',
  });
}

test('[B180] each leg has a span, whose id the server of the leg gets', async () => {
  const { ended, ...traced } = tracing();
  const sidecar = await bed.started(traced);
  const answer = ask(sidecar.address);
  const prefill = await bed.prefiller.next();
  expect(prefill.headers['traceparent']).toBe('span-of-prefill');
  prefill.response.end('{"kv_transfer_params":{"remote_host":"h"}}');
  const decode = await bed.engine.next();
  expect(decode.headers['traceparent']).toBe('span-of-decode');
  decode.response.end('{}');
  expect(await (await answer).text()).toBe('{}');
  await eventually(
    () => ended.length,
    (length) => length === 3,
  );
  const shared = {
    'llm_d.pd_proxy.connector': 'nixlv2',
    'llm_d.pd_proxy.request_id': 'r1',
  };
  expect(ended).toContainEqual({
    name: 'prefill',
    failure: undefined,
    attributes: expect.objectContaining({
      ...shared,
      'llm_d.pd_proxy.prefill_target': bed.prefiller.address,
      'llm_d.pd_proxy.prefill.status_code': 200,
    }),
  });
  expect(ended).toContainEqual({
    name: 'decode',
    failure: undefined,
    attributes: expect.objectContaining({ 'llm_d.pd_proxy.decode_target': bed.engine.address }),
  });
  expect(ended).toContainEqual({
    name: 'request',
    failure: undefined,
    attributes: expect.objectContaining({
      ...shared,
      'llm_d.pd_proxy.request_path': '/v1/completions',
      'http.response.status_code': 200,
    }),
  });
});

test('[B181] a leg that fails says why, and the request is still answered', async () => {
  const { ended, ...traced } = tracing();
  const sidecar = await bed.started(traced);
  const answer = ask(sidecar.address);
  const prefill = await bed.prefiller.next();
  prefill.response.writeHead(500).end('{}');
  const decode = await bed.engine.next();
  decode.response.end('{}');
  expect((await answer).status).toBe(200);
  await eventually(
    () => ended.length,
    (length) => length === 3,
  );
  expect(ended).toContainEqual(
    expect.objectContaining({ name: 'prefill', failure: 'answered 500' }),
  );
  expect(ended).toContainEqual(expect.objectContaining({ name: 'request', failure: undefined }));
});

test('[B181] a request without an engine ends its trace with the reason', async () => {
  const { ended, ...traced } = tracing();
  const sidecar = await bed.started({ ...traced, engine: '127.0.0.1:1' });
  const answer = await fetch(`http://${sidecar.address}/v1/completions`, {
    method: 'POST',
    body: '{"prompt":"a"}',
  });
  expect(answer.status).toBe(503);
  expect(ended.map(({ name }) => name)).toEqual(['decode', 'request']);
  expect(ended[1]?.attributes['error.type']).toBe('engine-failed');
  expect(ended[1]?.failure).toContain('ECONNREFUSED');
});
