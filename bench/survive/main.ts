import { setTimeout as wait } from 'node:timers/promises';
import { limitsFor } from '../../src/extproc/server/port/server-limits.ts';
import { packageFile } from '../../src/files/folders.ts';
import { fetchEnvoy } from '../../src/lab/envoy/fetch-envoy.ts';
import { builtMain } from '../cost/build.ts';
import { processCpuMs } from '../cost/proc.ts';
import {
  addressesOf,
  behindEnvoy,
  type Side,
  startPicker,
  startServer,
  startUpstream,
  type Tools,
} from '../load/bed.ts';
import { type Child, startChild, startTogether } from '../load/child.ts';
import { parseOptions } from '../support/parse-options.ts';
import { buildYardstick } from '../yardstick/build.ts';
import { measureOthers, memoryOf, type Others } from './measure.ts';

interface Attack {
  readonly about: string;
  /** How many at once, or a second. */
  readonly count: number;
  /** Against Envoy, as a client; or against the picker, as a gateway. */
  readonly target: 'envoy' | 'picker';
  /** Most MB of the picker's memory; undefined sets no bound. */
  readonly memoryMb?: number;
  readonly flags: readonly string[];
  /** The heap that fits into that memory. */
  readonly nodeFlags?: readonly string[];
  /** Time until the attack has its full force. */
  readonly warmUpMs: number;
}

const MB_512 = 512 * 1024 * 1024;

const ATTACKS: Readonly<Record<string, Attack>> = {
  uploads: {
    about: '2,000 uploads of 10 MB at 16 KB a second each, against a limit of 512 MB',
    count: 2000,
    target: 'envoy',
    memoryMb: 512,
    flags: ['--max-held-bytes', String(limitsFor(MB_512).heldBytesMax)],
    nodeFlags: ['--max-old-space-size=256'],
    warmUpMs: 15_000,
  },
  'idle-streams': {
    about: '10,000 requests whose answers never come',
    count: 10_000,
    target: 'picker',
    memoryMb: 600,
    flags: [],
    warmUpMs: 15_000,
  },
  'reset-flood': {
    about: '10,000 streams a second that are reset at once',
    count: 10_000,
    target: 'picker',
    flags: [],
    warmUpMs: 2000,
  },
  headers: {
    about: '100 requests a second with 50 KB of headers each',
    count: 100,
    target: 'envoy',
    flags: [],
    warmUpMs: 2000,
  },
};

const { values, positionals } = parseOptions({
  allowPositionals: true,
  options: {
    help: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    verbose: { type: 'boolean', default: false },
    count: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    'window-ms': { type: 'string', default: '10000' },
    against: { type: 'string' },
    echo: { type: 'boolean', default: false },
    'node-flags': { type: 'string', default: '' },
  },
});
const say = (line: string): void => void process.stderr.write(`${line}\n`);

interface Result {
  readonly attack: string;
  /** The checkout that was measured. */
  readonly of: string;
  readonly peakMb: number;
  readonly memoryMb: number | undefined;
  readonly before: Others;
  readonly during: Others;
  /** CPU of the ext_proc process while others were measured, in cores. */
  readonly coresBefore: number;
  readonly coresDuring: number;
  /** Collections of the whole heap while others were measured during the attack. */
  readonly collections: number;
  /** The last count that the attacker printed. */
  readonly attacker: string;
}

/** What is attacked: a picker by its main file, or the bare Go echo by its program. */
type Version = { readonly of: string } & (
  | { readonly main: string }
  | { readonly echoPath: string }
);

interface AttackedBed {
  readonly picker: Child;
  readonly extProcPort: number;
  readonly envoy: Side;
  stop(): Promise<void>;
}

function startBed(
  { flags, nodeFlags = [] }: Attack,
  version: Version,
  tools: Tools,
): Promise<AttackedBed> {
  const withFlags = { log: tools.log, nodeFlags: [...nodeFlags, ...tools.nodeFlags] };
  return startTogether(async (keep) => {
    const pool = { endpoints: 4, page: 'small', answerChunks: 0 } as const;
    const addresses = addressesOf(keep(await startUpstream(pool, tools)));
    const options = { ...pool, config: 'default', flags, collections: true };
    const picker = keep(
      'main' in version
        ? await startPicker({ ...options, main: version.main }, addresses, withFlags)
        : await startServer(options, addresses, tools, {
            kind: 'yardstick',
            path: version.echoPath,
          }),
    );
    const { extProcPort } = picker.said as { readonly extProcPort: number };
    return { picker, extProcPort, envoy: await behindEnvoy(picker, extProcPort, tools, keep) };
  });
}

function startAttacker(
  flags: Readonly<Record<'attack' | 'port' | 'count', string | number>>,
  log: (line: string) => void,
): Promise<Child> {
  return startChild({
    name: 'attacker',
    command: process.execPath,
    args: [
      packageFile('bench/survive/attacker.ts'),
      ...Object.entries(flags).map(([name, value]) => `--${name}=${value}`),
    ],
    log,
  });
}

interface Window {
  readonly others: Others;
  /** CPU of the ext_proc process. */
  readonly cores: number;
}

function portsOf({ envoy, extProcPort }: AttackedBed): { envoy: number; picker: number } {
  return { envoy: envoy.port, picker: extProcPort };
}

async function measureWindow(bed: AttackedBed, windowMs: number): Promise<Window> {
  const { picker } = bed;
  const cpuMs = processCpuMs(picker.pid);
  const others = await measureOthers(portsOf(bed), windowMs);
  return { others, cores: (processCpuMs(picker.pid) - cpuMs) / windowMs };
}

async function run(attack: string, version: Version, tools: Tools): Promise<Result> {
  const plan = ATTACKS[attack] as Attack;
  const { log } = tools;
  const bed = await startBed(plan, version, tools);
  let attacker: Child | undefined;
  let attackerSaid = '';
  try {
    const windowMs = Number(values['window-ms']);
    await measureOthers(portsOf(bed), 3000);
    const measured = (): Promise<Window> => measureWindow(bed, windowMs);
    const before = await measured();
    const port = plan.target === 'envoy' ? bed.envoy.port : bed.extProcPort;
    const count = String(values.count ?? plan.count);
    attacker = await startAttacker({ attack, port, count }, (line) => {
      attackerSaid = line;
      log(line);
    });
    await wait(plan.warmUpMs);
    const collected = bed.envoy.collections();
    const during = await measured();
    const collections = bed.envoy.collections() - collected;
    const { peakMb } = memoryOf(bed.picker.pid);
    const { memoryMb } = plan;
    return {
      attack,
      of: version.of,
      peakMb,
      memoryMb,
      before: before.others,
      during: during.others,
      coresBefore: before.cores,
      coresDuring: during.cores,
      collections,
      attacker: attackerSaid,
    };
  } finally {
    await attacker?.stop();
    await bed.stop();
  }
}

function report(result: Result): string {
  const { attack, of, peakMb, memoryMb, before, during, collections, attacker } = result;
  const cores = `${result.coresDuring.toFixed(2)} cores (${result.coresBefore.toFixed(2)} before)`;
  const memory = memoryMb === undefined ? '' : `, asked < ${memoryMb}`;
  const factor = (during.p99Ms / before.p99Ms).toFixed(2);
  return [
    `${attack}: ${ATTACKS[attack]?.about ?? ''} (${of})`,
    `  its memory: ${peakMb} MB at most${memory}; its CPU: ${cores}`,
    `  others before: ${described(before)}`,
    `  others during: ${described(during)}`,
    `  p99 ${factor} times, asked at most 2; ${collections} full collections; ${attacker}`,
  ].join('\n');
}

function described(others: Others): string {
  const { p50Ms, p99Ms, answered, failed, atPickerP99Ms, lateP99Ms } = others;
  return (
    `p50 ${p50Ms} ms, p99 ${p99Ms} ms, ${answered} answered, ${failed} failed; ` +
    `p99 of requests to the ext_proc process alone ${atPickerP99Ms} ms, of this bench's lateness ${lateP99Ms} ms`
  );
}

function usage(): string {
  const lines = Object.entries(ATTACKS).map(([name, { about }]) => `  ${name.padEnd(14)}${about}`);
  return `npm run bench -- survive [attack …] [options]

What clients and gateways that mean harm cost the picker, and other clients. Beside those, 25 requests
a second ask the picker itself over a connection of their own: the rest of the time of other clients
is that of Envoy, the model servers, and the attacker, with which they share the machine.

${lines.join('\n')}

  --count <n>        so many at once, or a second
  --rounds <n>       runs of each attack (3)
  --window-ms <n>    length of each measurement of other clients (10000)
  --against <folder> another checkout, measured in turn
  --echo             the bare Go echo, measured in turn: what Envoy, attacker and load take
  --node-flags <…>   flags of the picker's Node
  --json             one JSON document on stdout
  --verbose          what the processes say
`;
}

async function versionsOf(against: string | undefined, echo: boolean): Promise<readonly Version[]> {
  const versions: Version[] = [{ of: 'this checkout', main: await builtMain(packageFile('.')) }];
  if (against !== undefined) versions.push({ of: against, main: await builtMain(against) });
  if (!echo) return versions;
  const built = await buildYardstick(say);
  if ('unavailable' in built) throw new Error(`no Go echo: ${built.unavailable}`);
  return [...versions, { of: 'the Go echo', echoPath: built.path }];
}

async function main(): Promise<void> {
  const names = positionals.length === 0 ? Object.keys(ATTACKS) : positionals;
  const unknown = names.filter((name) => ATTACKS[name] === undefined);
  if (values.help || unknown.length > 0) {
    process.stdout.write(usage());
    process.exitCode = values.help ? 0 : 2;
    return;
  }
  const envoy = await fetchEnvoy({ log: say });
  if ('unavailable' in envoy) throw new Error(`needs a real Envoy: ${envoy.unavailable}`);
  const log = values.verbose ? say : (): void => undefined;
  const nodeFlags = values['node-flags'].split(' ').filter((flag) => flag !== '');
  const tools: Tools = { envoyPath: envoy.path, other: undefined, log, nodeFlags };
  const results: Result[] = [];
  const versions = await versionsOf(values.against, values.echo);
  for (const name of names) {
    for (let round = 0; round < Number(values.rounds); round++) {
      for (const version of versions) {
        const result = await run(name, version, tools);
        results.push(result);
        say(report(result));
      }
    }
  }
  if (values.json) process.stdout.write(`${JSON.stringify(results)}\n`);
}

await main();
