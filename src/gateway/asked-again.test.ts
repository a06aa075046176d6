import { status } from '@grpc/grpc-js';
import { afterEach, expect, it } from 'vitest';
import { pickOf, startScriptedPicker } from '../../test/support/grpc/scripted-picker.ts';
import { startCuttableProxy } from '../../test/support/servers/cuttable-proxy.ts';
import { gatewayBefore } from '../../test/support/servers/gateway-before.ts';
import { startScriptedServer } from '../../test/support/sidecar/scripted-server.ts';
import { SimulatedClock } from '../runtime/clock/simulated-clock.ts';

const stops: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

/** A gateway before a picker that a test scripts, and one endpoint. */
async function setUp() {
  const endpoint = await startScriptedServer();
  stops.push(() => endpoint.stop());
  const picker = await startScriptedPicker(endpoint.address);
  stops.push(() => picker.stop());
  const proxy = await startCuttableProxy(picker.port);
  stops.push(() => proxy.stop());
  const gateway = await gatewayBefore(proxy.port, { clock: new SimulatedClock() });
  stops.push(() => gateway.stop());
  return { endpoint, picker, proxy, url: `http://127.0.0.1:${gateway.port}/v1/completions` };
}

it.each([
  ['whose connection ends', 'cut'],
  ['whose connection ends while it is written to, which gRPC calls INTERNAL', 'internal'],
] as const)(
  '[V497] [V512] a picker %s before it has answered gets the request once more',
  async (_, how) => {
    const { endpoint, picker, proxy, url } = await setUp();
    let isFirst = true;
    picker.script((input, stream) => {
      if (!isFirst) pickOf(endpoint.address)(input, stream);
      else if (input.request_body?.end_of_stream === true) {
        isFirst = false;
        if (how === 'cut') proxy.cut();
        else stream.emit('error', { code: status.INTERNAL, details: 'write EPIPE' });
      }
    });
    const body = '{"model":"m","prompt":"hello"}';
    const visit = endpoint.next();
    void visit.then(({ response }) => response.end('{"ok":true}'));
    const answer = await fetch(url, { method: 'POST', body });
    expect([answer.status, await answer.text()]).toEqual([200, '{"ok":true}']);
    expect((await visit).body).toBe(body);
  },
);
