import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageFile } from '../../../src/files/folders.ts';
import { builtMain } from '../../cost/build.ts';
import { cpuMs } from '../../direct/cpu-ms.ts';
import { parseOptions } from '../../support/parse-options.ts';
import { memoryOf } from '../measure.ts';
import { ATTACKS } from './attacks.ts';
import { askFor } from './others.ts';
import {
  becomes,
  endAll,
  type HostileServer,
  type Picker,
  prioritize,
  startHostileServer,
  startPicker,
} from './processes.ts';

const { values } = parseOptions({
  options: {
    help: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '10' },
    attacks: { type: 'string', default: Object.keys(ATTACKS).join(',') },
    against: { type: 'string' },
    'memory-mb': { type: 'string', default: '512' },
    'node-flags': { type: 'string', default: '' },
  },
});
const HELP = `npm run bench -- hostile-cluster [options]

What an API server that attacks takes of a picker: CPU, memory, and the time of others' requests.
Prints one line of JSON for each attack.

  --attacks <name,…>  some attacks only, of
                      ${Object.keys(ATTACKS).join(' ')}
  --seconds <n>       length of each attack (10)
  --against <folder>  another checkout, measured in turn
  --memory-mb <n>     heap of the picker (512)
  --node-flags=<…>    flags of the picker's Node, such as "--cpu-prof"
`;
const MS = 1000 * Number(values.seconds);
const QUIET_MS = 3000;
const START_MS = 30_000;
const RECOVERY_MS = 60_000;
const PODS = 8;
const LOG_LINES = 6;

const isWell = ({ endpoints, kubernetesTroubles: troubles }: Record<string, unknown>): boolean =>
  endpoints === PODS && Array.isArray(troubles) && troubles.length === 0;

/** The share of a core that the main thread takes, and what others get meanwhile. */
async function measured(picker: Picker, ms: number) {
  const client = connect(`http://127.0.0.1:${picker.extProcPort}`);
  client.on('error', () => undefined);
  const [cpuFrom, from] = [cpuMs(picker.pid, 'deciding'), performance.now()];
  const others = await askFor(client, ms);
  client.destroy();
  if (picker.ended() !== undefined) return { ended: picker.ended() };
  const cores = (cpuMs(picker.pid, 'deciding') - cpuFrom) / (performance.now() - from);
  const loopDelayMs = await picker.loopDelayMs();
  return {
    cores: Math.round(1000 * cores) / 1000,
    loopDelayMs,
    ...others,
    ...memoryOf(picker.pid),
  };
}

async function measureAttack(
  name: string,
  { server, kubeconfig, program }: { server: HostileServer; kubeconfig: string; program: string },
) {
  await server.attack('none');
  const picker = await startPicker(program, kubeconfig, {
    memoryMb: values['memory-mb'],
    nodeFlags: values['node-flags'].split(' ').filter((flag) => flag !== ''),
  });
  try {
    const started = await becomes(picker, (state) => state['freshEndpoints'] === PODS, START_MS);
    if (started === undefined) throw new Error(picker.log.join('\n'));
    await measured(picker, QUIET_MS);
    const before = await measured(picker, QUIET_MS);
    const logged = picker.log.length;
    await server.attack(name);
    const during = await measured(picker, MS);
    const { endpoints } = await picker.state();
    const questions = await server.attack('none');
    const recoveredMs = await becomes(picker, isWell, RECOVERY_MS);
    const log = picker.log.slice(logged);
    const shown = log.slice(0, LOG_LINES).map((line) => line.slice(0, 400));
    return { before, during, endpoints, questions, recoveredMs, logLines: log.length, log: shown };
  } finally {
    await picker.end();
  }
}

async function main(): Promise<void> {
  const unknown = values.attacks.split(',').filter((name) => ATTACKS[name] === undefined);
  if (values.help || unknown.length > 0) {
    process.stdout.write(HELP);
    process.exitCode = values.help ? 0 : 2;
    return;
  }
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-hostile-cluster-'));
  try {
    await measureAll(folder);
  } finally {
    endAll();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measureAll(folder: string): Promise<void> {
  const server = await startHostileServer();
  const kubeconfig = join(folder, 'kubeconfig');
  const cluster = { server: `http://127.0.0.1:${server.port}`, 'insecure-skip-tls-verify': true };
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'c',
      clusters: [{ name: 'c', cluster }],
      users: [{ name: 'u', user: { token: 't' } }],
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    }),
  );
  const programs = [await builtMain(packageFile('.'))];
  if (values.against !== undefined) programs.push(await builtMain(values.against));
  prioritize(process.pid, -10);
  for (const attack of values.attacks.split(',')) {
    for (const program of programs) {
      const result = await measureAttack(attack, { server, kubeconfig, program });
      process.stdout.write(`${JSON.stringify({ attack, program, ...result })}\n`);
    }
  }
}

await main();
