import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { cpuMs } from '../../direct/cpu-ms.ts';
import { memoryOf } from '../measure.ts';
import { ATTACKS } from './attacks.ts';
import { askFor } from './others.ts';
import {
  becomes,
  endAll,
  type HostileServer,
  type Picker,
  startHostileServer,
  startPicker,
} from './processes.ts';

// What an API server that attacks takes of a picker: CPU, memory, and the time of others' requests.
// Prints one line of JSON for each attack.

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    attacks: { type: 'string', default: Object.keys(ATTACKS).join(',') },
    /** Another checkout's `dist/src/main.js`, to compare. */
    program: { type: 'string', default: join(import.meta.dirname, '../../../dist/src/main.js') },
    'memory-mb': { type: 'string', default: '512' },
  },
});
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
  return { cores: Math.round(1000 * cores) / 1000, ...others, ...memoryOf(picker.pid) };
}

async function measureAttack(name: string, server: HostileServer, kubeconfig: string) {
  await server.attack('none');
  const picker = startPicker(values.program, kubeconfig, values['memory-mb']);
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
    picker.kill();
  }
}

const folder = mkdtempSync(join(tmpdir(), 'pointsman-hostile-cluster-'));
try {
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
  for (const attack of values.attacks.split(',')) {
    const result = await measureAttack(attack, server, kubeconfig);
    process.stdout.write(`${JSON.stringify({ attack, ...result })}\n`);
  }
} finally {
  endAll();
  rmSync(folder, { recursive: true, force: true });
}
