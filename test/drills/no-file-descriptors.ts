import { connect, type Socket } from 'node:net';
import { z } from 'zod';
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

const readiness = z.object({
  ok: z.boolean(),
  state: z.string(),
  reasons: z.array(z.string()),
});

const FILES_MAX = 64;
const CONNECTIONS = 300;
const PHASE_MS = 6000;

/** Connections to the picker take all that it may have open; later they are gone. */
await drill('a picker is out of file descriptors', async ({ row, noneFailed }) => {
  const servers = await startServers(8);
  const flags = ['--endpoints', addressesOf(servers)];
  const picker = await startPicker(flags, `ulimit -n ${FILES_MAX}`);
  const gateway = await startGateway({ pickers: [picker.extProcPort] });
  const load = startLoad({ url: gateway.url, perSecond: PER_SECOND });
  await sleep(PHASE_MS);
  const sockets: Socket[] = Array.from({ length: CONNECTIONS }, () =>
    connect(picker.extProcPort, '127.0.0.1').on('error', () => undefined),
  );
  await sleep(PHASE_MS);
  for (const socket of sockets) socket.destroy();
  await sleep(PHASE_MS);
  await load.stop();
  noneFailed(load.sent, ' over the gateway’s own connection');
  const later = await startGateway({ pickers: [picker.extProcPort] });
  const after = startLoad({ url: later.url, perSecond: PER_SECOND / 4 });
  await sleep(PHASE_MS);
  await after.stop();
  noneFailed(after.sent, ' over a new connection afterwards');
  const { ok, state, reasons } = readiness.parse(JSON.parse(await picker.get('/readyz')));
  row('it is ready', [state, ...reasons].join(': '), 'ready, or degraded', ok);
  picker.process.kill('SIGKILL');
  await Promise.all([gateway.stop(), later.stop()]);
  await servers.stop();
});
