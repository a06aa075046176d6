import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';

const children: ChildProcess[] = [];

export function endAll(): void {
  for (const each of children) each.kill('SIGKILL');
}

/** Says on a picker's metrics page how late its event loop is. */
const LOOP_DELAY = /^pointsman_event_loop_delay_seconds\{quantile="0.99"\} (\S+)/m;

/** On a machine with other work all would else wait for a core, and the attack be weak. */
export function prioritize(pid: number, niceness: number): void {
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

/** What a program prints first on stdout. */
function firstLine(child: ChildProcess, log: () => string): Promise<string> {
  return new Promise((resolve, reject) => {
    if (child.stdout !== null) createInterface(child.stdout).once('line', resolve);
    child.once('exit', (code) => reject(new Error(`a program ended with ${code}: ${log()}`)));
  });
}

export interface HostileServer {
  readonly port: number;
  /** From now on; `none` for answers as usual. Resolves to the questions since the last. */
  attack(name: string): Promise<number>;
}

export async function startHostileServer(): Promise<HostileServer> {
  const child = start([join(import.meta.dirname, 'hostile-server.ts')], -5);
  const said = await firstLine(child, () => '');
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
  /** How late its event loop was, at p99 over 5 s. */
  loopDelayMs(): Promise<number>;
  end(): Promise<void>;
}

interface PickerOptions {
  readonly memoryMb: string;
  readonly nodeFlags: readonly string[];
}

/** Starts a picker on free ports, and resolves when it serves. */
export async function startPicker(
  program: string,
  kubeconfig: string,
  { memoryMb, nodeFlags }: PickerOptions,
): Promise<Picker> {
  const serve =
    'serve --json --insecure --extproc-port 0 --metrics-port 0 --pool-name pool --pool-namespace default';
  const child = start(
    [
      `--max-old-space-size=${memoryMb}`,
      ...nodeFlags,
      program,
      ...serve.split(' '),
      '--kubeconfig',
      kubeconfig,
    ],
    -10,
  );
  const log: string[] = [];
  if (child.stderr !== null) createInterface(child.stderr).on('line', (line) => log.push(line));
  let ended: string | undefined;
  child.once('exit', (code, signal) => {
    ended = String(code ?? signal);
  });
  const said = await firstLine(child, () => log.join('\n'));
  const { extProcPort, metricsPort } = JSON.parse(said) as Readonly<Record<string, number>>;
  const page = (path: string): Promise<Response | undefined> =>
    fetch(`http://127.0.0.1:${metricsPort}${path}`).catch(() => undefined);
  return {
    pid: child.pid ?? 0,
    extProcPort: extProcPort ?? 0,
    log,
    ended: () => ended,
    state: async () => {
      const readiness = (await (await page('/readyz'))?.json()) as
        | { readonly detail?: Readonly<Record<string, unknown>> }
        | undefined;
      return readiness?.detail ?? {};
    },
    loopDelayMs: async () => {
      const text = (await (await page('/metrics'))?.text()) ?? '';
      return Math.round(1000 * Number(LOOP_DELAY.exec(text)?.[1] ?? Number.NaN));
    },
    // As by Ctrl-C: after SIGTERM it would first give gateways time to notice.
    end: async () => {
      child.kill('SIGINT');
      if (ended === undefined) await once(child, 'exit');
    },
  };
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
