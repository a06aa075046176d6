import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pythonWith } from '../../bench/support/python-with.ts';
import {
  addressesOf,
  type DrillPicker,
  type DrillReport,
  drill,
  PER_SECOND,
  sleep,
  startGateway,
  startLoad,
  startPicker,
  startServers,
} from './support.ts';

const STEADY_MS = 5000;
const PAUSE_MS = 4000;
const HOUR_S = 3600;
/** Its wheel has the library for Linux on x86-64. */
const FAKETIME = 'libfaketime==3.0.1';
const LIBRARY = 'vendor/libfaketime/src/libfaketime.so.1';

interface Described {
  readonly endpoints: readonly {
    readonly fresh: boolean;
    readonly ejected: unknown;
    readonly inFlight: { readonly requests: number };
  }[];
}

/** The picker's machine sleeps for four seconds, and its wall clock jumps an hour on and back. */
await drill('the picker’s clocks jump', async (report) => {
  const folder = await mkdtemp(join(tmpdir(), 'pointsman-clock-'));
  const offset = join(folder, 'offset');
  await writeFile(offset, '+0');
  const library = await faketime();
  const faked = `export LD_PRELOAD=${library} FAKETIME_TIMESTAMP_FILE=${offset} FAKETIME_NO_CACHE=1 DONT_FAKE_MONOTONIC=1`;
  const servers = await startServers(8);
  const picker = await startPicker(['--endpoints', addressesOf(servers)], faked);
  const gateway = await startGateway({ pickers: [picker.extProcPort] });
  const load = startLoad({ url: gateway.url, perSecond: PER_SECOND });
  try {
    await sleep(STEADY_MS);
    picker.process.kill('SIGSTOP');
    await sleep(PAUSE_MS);
    picker.process.kill('SIGCONT');
    await settled(report, picker, 'after four seconds without the picker’s process');
    for (const seconds of [HOUR_S, -HOUR_S]) {
      await writeFile(offset, `${seconds > 0 ? '+' : ''}${seconds}`);
      await settled(report, picker, `after a wall-clock jump to ${seconds} s`);
    }
    await load.stop();
    report.noneFailed(load.sent);
    const left = (await described(picker)).reduce(
      (sum, { inFlight }) => sum + inFlight.requests,
      0,
    );
    report.row('reservations left', String(left), '0', left === 0);
  } finally {
    picker.process.kill('SIGKILL');
    await gateway.stop();
    await servers.stop();
    await rm(folder, { recursive: true });
  }
});

/**
 * The library that changes what a process takes for the time; installed once into the user's cache.
 */
async function faketime(): Promise<string> {
  const python = await pythonWith([FAKETIME], (line) => void process.stderr.write(`${line}\n`));
  const print = 'import libfaketime; print(libfaketime.__file__)';
  const module = execFileSync(python, ['-c', print], { encoding: 'utf8' }).trim();
  return join(dirname(module), LIBRARY);
}

async function settled({ row }: DrillReport, picker: DrillPicker, when: string): Promise<void> {
  await sleep(STEADY_MS);
  const endpoints = await described(picker);
  const well = endpoints.filter(({ fresh, ejected }) => fresh && ejected === false).length;
  row(`fresh endpoints in use ${when}`, String(well), String(endpoints.length), well === 8);
}

async function described(picker: DrillPicker): Promise<Described['endpoints']> {
  return (JSON.parse(await picker.get('/debug/endpoints')) as Described).endpoints;
}
