import { inFlightAt } from '../../bench/support/stack.ts';
import { startCuttableProxy } from '../support/servers/cuttable-proxy.ts';
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

const LOAD_MS = 5000;
const FREED_MS = 60_000;

/** The host of one of two gateways vanishes: nothing is closed, no byte comes any more. */
await drill('a gateway host is gone without a word', async ({ row, noneFailed }) => {
  const servers = await startServers(8);
  const picker = await startPicker(['--endpoints', addressesOf(servers)]);
  const proxy = await startCuttableProxy(picker.extProcPort);
  const vanishing = await startGateway({ pickers: [proxy.port] });
  const staying = await startGateway({ pickers: [picker.extProcPort] });
  // They take about a second, so that some are under way when the gateway vanishes.
  const lost = startLoad({
    url: vanishing.url,
    perSecond: PER_SECOND / 2,
    patienceMs: 3000,
    tokens: 1000,
  });
  const kept = startLoad({ url: staying.url, perSecond: PER_SECOND / 2 });
  await sleep(LOAD_MS);
  proxy.silence();
  const goneAt = performance.now();
  await lost.stop();
  const held = await inFlightAt(picker.metricsPort);
  row('requests in flight after it has gone', String(held), 'at least 1', held > 0);
  await sleep(LOAD_MS);
  await kept.stop();
  noneFailed(kept.sent, ' through the other gateway');
  let left = held;
  while (left > 0 && performance.now() - goneAt < FREED_MS) {
    await sleep(250);
    left = await inFlightAt(picker.metricsPort);
  }
  const freedMs = performance.now() - goneAt;
  row(
    'its reservations are released',
    `${left} left after ${freedMs.toFixed(0)} ms`,
    `0 within ${FREED_MS} ms`,
    left === 0,
  );
  picker.process.kill('SIGKILL');
  await Promise.all([vanishing.stop(), staying.stop()]);
  await proxy.stop();
  await servers.stop();
});
