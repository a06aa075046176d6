import {
  addressesOf,
  drill,
  errorsOf,
  failed,
  PER_SECOND,
  sleep,
  startGateway,
  startLoad,
  startPicker,
  startServers,
} from './support.ts';

const BEFORE_MS = 5000;
const AFTER_MS = 15_000;

await drill('kill -9 of one of two pickers under load', async ({ row, note }) => {
  const servers = await startServers(8);
  const flags = ['--endpoints', addressesOf(servers)];
  const [a, b] = await Promise.all([startPicker(flags), startPicker(flags)]);
  const gateway = await startGateway({ pickers: [a.extProcPort, b.extProcPort] });
  const load = startLoad({ url: gateway.url, perSecond: PER_SECOND });
  await sleep(BEFORE_MS);
  const killedAt = performance.now();
  a.process.kill('SIGKILL');
  await sleep(AFTER_MS);
  await load.stop();
  const bad = failed(load.sent);
  const open = ({ startedAt, endedAt }: { startedAt: number; endedAt: number }): boolean =>
    startedAt <= killedAt && endedAt >= killedAt;
  const beyond = bad.filter((each) => !open(each));
  row(
    `failed of ${load.sent.length}, but for the ${load.sent.filter(open).length} under way`,
    String(beyond.length),
    '0',
    beyond.length === 0,
  );
  if (bad.length > 0) note(errorsOf(load.sent));
  b.process.kill('SIGKILL');
  await gateway.stop();
  await servers.stop();
});
