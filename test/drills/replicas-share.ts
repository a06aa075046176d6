import { startNatsServer } from '../../bench/support/nats-server.ts';
import {
  addressesOf,
  type DrillPicker,
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

const CONVERSATIONS = 100;
/** After so many turns a conversation begins anew. */
const TURNS = 20;
const TURN_TEXT = 'and then the next question of this conversation, with all that came before. ';
const TURN_REPEATS = 6;

const WARM_MS = 15_000;
const PHASE_MS = 10_000;
/** Above the five seconds after which a silent replica is gone. */
const GONE_MS = 8_000;
const NATS_GONE_MS = 60_000;
const BACK_MS = 15_000;

/** Turn after turn of many conversations: each prompt begins with the one before. */
function promptOf(n: number): string {
  const turn = Math.floor(n / CONVERSATIONS);
  const name = `conversation ${n % CONVERSATIONS} of round ${Math.floor(turn / TURNS)}. `;
  return name.repeat(20) + TURN_TEXT.repeat(TURN_REPEATS * ((turn % TURNS) + 1));
}

const between = (sent: readonly Sent[], from: number, to: number): readonly Sent[] =>
  sent.filter(({ startedAt }) => startedAt >= from && startedAt < to);

function hitRate(sent: readonly Sent[]): number {
  const [prompt, cached] = sent.reduce(
    ([p, c], { usage }) => [p + (usage?.promptTokens ?? 0), c + (usage?.cachedTokens ?? 0)],
    [0, 0],
  );
  return cached / Math.max(1, prompt);
}

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

async function peersOf(picker: DrillPicker): Promise<number> {
  const { peers } = JSON.parse(await picker.get('/debug/replicas')) as { peers: unknown[] };
  return peers.length;
}

async function until(check: () => Promise<boolean>, withinMs: number): Promise<boolean> {
  const end = performance.now() + withinMs;
  while (performance.now() < end) {
    // A picker whose machine is busy may refuse a question; the bound is then missed, and the drill
    // goes on.
    if (await check().catch(() => false)) return true;
    await sleep(100);
  }
  return false;
}

await drill('two pickers that share: one is killed, and NATS is gone', async ({ row, note }) => {
  const servers = await startServers(8);
  let nats = await startNatsServer();
  const flags = ['--endpoints', addressesOf(servers), '--replicas-nats', nats.url];
  const a = await startPicker([...flags, '--replica-id', 'a']);
  const b = await startPicker([...flags, '--replica-id', 'b']);
  const gateway = await startGateway({ pickers: [a.extProcPort, b.extProcPort] });
  const met = await until(async () => (await peersOf(a)) + (await peersOf(b)) === 2, 10_000);
  row('the pickers know each other', String(met), 'true', met);

  const load = startLoad({ url: gateway.url, perSecond: PER_SECOND, prompt: promptOf });
  await sleep(WARM_MS);
  const measuredFrom = performance.now();
  await sleep(PHASE_MS);
  const killedAt = performance.now();
  const before = hitRate(between(load.sent, measuredFrom, killedAt));
  a.process.kill('SIGKILL');
  const released = await until(async () => (await peersOf(b)) === 0, GONE_MS);
  row('the killed picker is gone at the other', String(released), 'within 8 s', released);

  const samePort = ['--replica-id', 'a', '--extproc-port', String(a.extProcPort)];
  const restarted = await startPicker([...flags, ...samePort]);
  const backAt = performance.now();
  await sleep(2 * PHASE_MS);
  const after = hitRate(between(load.sent, backAt + PHASE_MS, backAt + 2 * PHASE_MS));
  row(
    `hit rate 10 to 20 s after its restart (before: ${percent(before)})`,
    percent(after),
    `at least ${percent(0.9 * before)}`,
    after >= 0.9 * before,
  );

  const natsGoneAt = performance.now();
  await nats.kill();
  await sleep(NATS_GONE_MS);
  const natsBackAt = performance.now();
  nats = await startNatsServer(nats.port);
  const again = await until(
    async () => (await peersOf(restarted)) + (await peersOf(b)) === 2,
    BACK_MS,
  );
  row('they know each other once NATS is back', String(again), 'within 15 s', again);
  await load.stop();

  const underWay = ({ startedAt, endedAt }: Sent): boolean =>
    startedAt <= killedAt && endedAt >= killedAt;
  const bad = failed(load.sent).filter((each) => !underWay(each));
  row(
    `failed of ${load.sent.length}, but for those under way at the kill`,
    String(bad.length),
    '0',
    bad.length === 0,
  );
  const without = failed(between(load.sent, natsGoneAt, natsBackAt));
  row('failed while NATS was gone', String(without.length), '0', without.length === 0);
  if (bad.length > 0) note(errorsOf(load.sent));
  note(`hit rate without NATS: ${percent(hitRate(between(load.sent, natsGoneAt, natsBackAt)))}`);
  for (const picker of [b, restarted]) picker.process.kill('SIGKILL');
  await Promise.all([gateway.stop(), servers.stop(), nats.kill()]);
});
