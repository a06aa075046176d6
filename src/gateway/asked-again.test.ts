import { afterEach, expect, it } from 'vitest';
import { pickOf, startScriptedPicker } from '../../test/support/grpc/scripted-picker.ts';
import { startCuttableProxy } from '../../test/support/servers/cuttable-proxy.ts';
import { startScriptedServer } from '../../test/support/sidecar/scripted-server.ts';
import { SimulatedClock } from '../runtime/clock/simulated-clock.ts';
import { startGateway } from './start-gateway.ts';

const stops: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

it('[V497] a picker whose connection ends before it has answered gets the request once more', async () => {
  const endpoint = await startScriptedServer();
  stops.push(() => endpoint.stop());
  const picker = await startScriptedPicker(endpoint.address);
  stops.push(() => picker.stop());
  const proxy = await startCuttableProxy(Number(picker.address.split(':')[1]));
  stops.push(() => proxy.stop());
  const gateway = await startGateway({
    host: '127.0.0.1',
    port: 0,
    extProcAddress: `127.0.0.1:${proxy.port}`,
    extProcTls: false,
    clock: new SimulatedClock(),
    log: () => undefined,
  });
  stops.push(() => gateway.stop());
  let isFirst = true;
  picker.script((input, stream) => {
    if (!isFirst) pickOf(endpoint.address)(input, stream);
    else if (input.request_body?.end_of_stream === true) {
      isFirst = false;
      proxy.cut();
    }
  });
  const body = '{"model":"m","prompt":"hello"}';
  const visit = endpoint.next();
  void visit.then(({ response }) => response.end('{"ok":true}'));
  const url = `http://127.0.0.1:${gateway.port}/v1/completions`;
  const answer = await fetch(url, { method: 'POST', body });
  expect([answer.status, await answer.text()]).toEqual([200, '{"ok":true}']);
  expect((await visit).body).toBe(body);
});
