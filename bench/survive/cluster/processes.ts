import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';

const children: ChildProcess[] = [];

export function endAll(): void {
  for (const each of children) each.kill('SIGKILL');
}

/** On a machine with other work both would else wait for a core, and the attack be weak. */
function prioritize(pid: number, niceness: number): void {
  try {
    writeFileSync(`/proc/${pid}/autogroup`, String(niceness));
  } catch {
    // Only root may, and only where the kernel has it.
  }
}

function start(args: readonly string[], niceness: number): ChildProcess {
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'pipe'], detached: true });
  children.push(child);
  prioritize(child.pid ?? 0, niceness);
  return child;
}

export interface HostileServer {
  readonly port: number;
  /** From now on; `none` for a server that is well. Resolves to the questions since the last. */
  attack(name: string): Promise<number>;
}

export async function startHostileServer(): Promise<HostileServer> {
  const child = start([join(import.meta.dirname, 'hostile-server.ts')], -5);
  if (child.stdout === null) throw new Error('the server has no output');
  const lines = createInterface(child.stdout);
  const said = await new Promise<string>((resolve, reject) => {
    lines.once('line', resolve);
    child.once('exit', (code) => reject(new Error(`the hostile server ended with ${code}`)));
  });
  const { port } = JSON.parse(said) as { readonly port: number };
  return {
    port,
    attack: async (name) => {
      const answer = await fetch(`http://127.0.0.1:${port}/attack?name=${name}`);
      return ((await answer.json()) as { readonly questions: number }).questions;
    },
  };
}

export interface Picker {
  readonly pid: number;
  readonly extProcPort: number;
  readonly log: readonly string[];
  /** How it ended, if it has. */
  ended(): string | undefined;
  /** The details of `/readyz`; none where it does not answer. */
  state(): Promise<Readonly<Record<string, unknown>>>;
  kill(): void;
}

const PORT_MIN = 28_500;

export function startPicker(program: string, kubeconfig: string, memoryMb: string): Picker {
  const extProcPort = PORT_MIN + Math.floor(Math.random() * 500);
  const metricsPort = extProcPort + 500;
  const flags = {
    kubeconfig,
    'pool-name': 'pool',
    'pool-namespace': 'default',
    'extproc-port': extProcPort,
    'metrics-port': metricsPort,
  };
  const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const child = start(
    [`--max-old-space-size=${memoryMb}`, program, 'serve', '--insecure', ...args],
    -10,
  );
  const log: string[] = [];
  let ended: string | undefined;
  for (const stream of [child.stdout, child.stderr]) {
    if (stream !== null) createInterface(stream).on('line', (line) => void log.push(line));
  }
  child.once('exit', (code, signal) => {
    ended = String(code ?? signal);
  });
  const state: Picker['state'] = async () => {
    const answer = await fetch(`http://127.0.0.1:${metricsPort}/readyz`).catch(() => undefined);
    const page = (await answer?.json()) as { detail?: Record<string, unknown> } | undefined;
    return page?.detail ?? {};
  };
  const kill = (): void => void child.kill('SIGKILL');
  return { pid: child.pid ?? 0, extProcPort, log, ended: () => ended, state, kill };
}

/** Resolves to whether the state of the picker became so within this time, and when. */
export async function becomes(
  picker: Picker,
  is: (state: Readonly<Record<string, unknown>>) => boolean,
  withinMs: number,
): Promise<number | undefined> {
  const from = performance.now();
  while (performance.now() - from < withinMs && picker.ended() === undefined) {
    if (is(await picker.state())) return performance.now() - from;
    await wait(100);
  }
  return undefined;
}
