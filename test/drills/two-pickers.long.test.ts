import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { envoyBinary, eventually } from '../../bench/support/stack.ts';
import type { StubPool } from '../../stub-server/pool.ts';
import {
  addressesOf,
  type DrillPicker,
  errorsOf,
  failed,
  type Load,
  startGateway,
  startLoad,
  startPicker,
  startServers,
} from './support.ts';

/** The drills of pickers that end, in short; `npm run test:drills` runs them at full length. */

const binary = await envoyBinary();
/** Few, as the machine may be busy. */
const PER_SECOND = 20;

describe.skipIf(binary === undefined)('two pickers behind a real Envoy', () => {
  let servers: StubPool;
  let flags: readonly string[];
  const pickers: DrillPicker[] = [];
  let gateway: Awaited<ReturnType<typeof startGateway>>;
  let load: Load;

  beforeAll(async () => {
    servers = await startServers(2);
    flags = ['--endpoints', addressesOf(servers)];
    pickers.push(await startPicker(flags), await startPicker(flags));
    gateway = await startGateway({ pickers: pickers.map(({ extProcPort }) => extProcPort) });
    load = startLoad({ url: gateway.url, perSecond: PER_SECOND });
  });
  afterAll(async () => {
    await load?.stop();
    for (const picker of pickers) picker.process.kill('SIGKILL');
    await gateway?.stop();
    await servers?.stop();
  });

  const answers = async (more: number): Promise<void> => {
    const before = load.sent.length;
    await eventually(
      () => load.sent.length,
      (now) => now >= before + more,
    );
  };

  it('[V83] lose no request when one is asked to end and comes back', async () => {
    const [first] = pickers;
    await answers(40);
    first?.process.kill('SIGTERM');
    await first?.exited;
    pickers[0] = await startPicker([...flags, '--extproc-port', String(first?.extProcPort)]);
    await answers(100);
    expect(errorsOf(load.sent)).toBe('');
  });

  it('[V83] lose no request but those under way when one is killed', async () => {
    const [, second] = pickers;
    const killedAt = performance.now();
    second?.process.kill('SIGKILL');
    await second?.exited;
    await answers(100);
    const later = load.sent.filter(({ startedAt }) => startedAt > killedAt);
    expect(errorsOf(later)).toBe('');
    expect(failed(later)).toEqual([]);
  });
});
