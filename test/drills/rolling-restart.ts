import {
  addressesOf,
  drill,
  PER_SECOND,
  sleep,
  startGateway,
  startLoad,
  startPicker,
  startServers,
} from './support.ts';

const REQUESTS = Number(process.env['DRILL_REQUESTS'] ?? 20_000);

await drill('a rolling restart of two pickers under load', async ({ noneFailed }) => {
  const servers = await startServers(8);
  const flags = ['--endpoints', addressesOf(servers)];
  const pickers = [await startPicker(flags), await startPicker(flags)];
  const ports = pickers.map(({ extProcPort }) => extProcPort);
  const gateway = await startGateway({ pickers: ports });
  const load = startLoad({ url: gateway.url, perSecond: PER_SECOND, requestsMax: REQUESTS });
  const endAt = performance.now() + (1000 * REQUESTS) / PER_SECOND;
  let restarts = 0;
  while (performance.now() < endAt - 10_000) {
    await sleep(5000);
    const at = restarts % 2;
    pickers[at]?.process.kill('SIGTERM');
    await pickers[at]?.exited;
    pickers[at] = await startPicker([...flags, '--extproc-port', String(ports[at])]);
    restarts += 1;
    // Until the gateway's health checks have seen it.
    await sleep(5000);
  }
  await sleep(Math.max(0, endAt - performance.now()) + 1000);
  await load.stop();
  noneFailed(load.sent, ` during ${restarts} restarts`);
  for (const { process: child } of pickers) child.kill('SIGKILL');
  await gateway.stop();
  await servers.stop();
});
