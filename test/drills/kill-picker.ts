import {
  addressesOf,
  drill,
  errorsOf,
  failed,
  PER_SECOND,
  type Sent,
  sleep,
  startGateway,
  startLoad,
  startPicker,
  startServers,
} from './support.ts';

/** Beyond what Envoy keeps of a stream to give it to another picker, in every tenth request. */
const LARGE_BYTES = 100_000;
const large = 'x'.repeat(LARGE_BYTES);
const BEFORE_MS = 5000;
const AFTER_MS = 15_000;

await drill('kill -9 of one of two pickers under load', async ({ row, note }) => {
  const servers = await startServers(8);
  const flags = ['--endpoints', addressesOf(servers)];
  const [a, b] = await Promise.all([startPicker(flags), startPicker(flags)]);
  const gateway = await startGateway({ pickers: [a.extProcPort, b.extProcPort] });
  const load = startLoad({
    url: gateway.url,
    perSecond: PER_SECOND,
    prompt: (n) => (n % 10 === 0 ? `request ${n} ${large}` : `request ${n}`),
  });
  await sleep(BEFORE_MS);
  const killedAt = performance.now();
  a.process.kill('SIGKILL');
  // A large process keeps its connections for some milliseconds more: what comes then is on it,
  // too.
  await a.exited;
  const endedAt = performance.now();
  await sleep(AFTER_MS);
  await load.stop();
  const bad = failed(load.sent);
  const open = (each: Sent): boolean => each.startedAt <= endedAt && each.endedAt >= killedAt;
  const beyond = bad.filter((each) => !open(each));
  row(
    `failed of ${load.sent.length}, but for the ${load.sent.filter(open).length} under way until it has ended`,
    String(beyond.length),
    '0',
    beyond.length === 0,
  );
  if (bad.length > 0) note(errorsOf(load.sent));
  b.process.kill('SIGKILL');
  await gateway.stop();
  await servers.stop();
});
