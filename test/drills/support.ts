import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import type { Document } from 'yaml';
import { envoyBinary } from '../../bench/support/stack.ts';
import { messageOf } from '../../src/framework/error.ts';
import {
  CONNECTION_MANAGER,
  type EnvoyConfigOptions,
  renderEnvoyConfig,
} from '../../src/lab/envoy/render-config.ts';
import { startEnvoy } from '../../src/lab/envoy/run-envoy.ts';
import { stubOptions } from '../../stub-server/options/stub-options.ts';
import { type StubPool, startStubPool } from '../../stub-server/pool.ts';

const MAIN = join(import.meta.dirname, '../../src/main.ts');
const SERVED_BY = 'x-served-by';
/** Requests per second; on a machine that is slow or busy, fewer: `DRILL_PER_SECOND=40`. */
export const PER_SECOND: number = Number(process.env['DRILL_PER_SECOND'] ?? 200);

/** A `pointsman serve` in a process of its own. */
export interface DrillPicker {
  readonly process: ChildProcess;
  readonly exited: Promise<unknown>;
  readonly extProcPort: number;
  readonly metricsPort: number;
  /** All that it has logged. */
  readonly log: readonly string[];
  get(path: string): Promise<string>;
}

/** Starts a picker; `through` is a shell command such as `ulimit -n 100`, run before it. */
export async function startPicker(
  flags: readonly string[],
  through?: string,
): Promise<DrillPicker> {
  const ports = ['--host', '127.0.0.1', '--metrics-port', '0', '--extproc-port', '0'];
  const args = [MAIN, 'serve', '--json', '--insecure', '--log-level', 'warn', ...ports, ...flags];
  const child =
    through === undefined
      ? spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
      : spawn('sh', ['-c', `${through}; exec "$@"`, 'sh', process.execPath, ...args], {
          stdio: ['ignore', 'pipe', 'pipe'],
        });
  const exited = once(child, 'exit');
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  child.once('exit', () => process.off('exit', kill));
  const log: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => void log.push(line));
  const [line] = (await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    exited.then(() => {
      throw new Error(`the picker has ended: ${log.join('\n')}`);
    }),
  ])) as [string];
  const { extProcPort, metricsPort } = JSON.parse(line) as DrillPicker;
  const get = async (path: string): Promise<string> =>
    (await fetch(`http://127.0.0.1:${metricsPort}${path}`)).text();
  return { process: child, exited, extProcPort, metricsPort, log, get };
}

/** Model servers in this process; `speed` 1 is that of real ones. */
export function startServers(count: number, speed = 10): Promise<StubPool> {
  return startStubPool(stubOptions.parse({ count, port: 0, speed, model: 'm' }));
}

export const addressesOf = (pool: StubPool): string =>
  pool.endpoints.map(({ address }) => address).join(',');

interface EnvoyOptions {
  readonly wiring?: EnvoyConfigOptions['wiring'];
  /** Ports of the pickers. */
  readonly pickers: readonly number[];
  readonly edit?: (config: Document) => void;
}

/** The shipped configuration with these pickers; answers name the server that gave them. */
export async function startGateway({
  wiring = 'envoy',
  pickers,
  edit,
}: EnvoyOptions): Promise<{ readonly url: string; readonly pid: number; stop(): Promise<void> }> {
  const binary = await envoyBinary();
  if (binary === undefined) throw new Error('a drill needs a real Envoy');
  const [first, ...others] = pickers;
  const configYaml = renderEnvoyConfig({
    wiring,
    listenerPort: 0,
    extProcAddress: `127.0.0.1:${first}`,
    edit: (config) => {
      for (const port of others) {
        const address = { socket_address: { address: '127.0.0.1', port_value: port } };
        config.addIn(PICKER_ENDPOINTS, config.createNode({ endpoint: { address } }));
      }
      const header = { header: { key: SERVED_BY, value: '%UPSTREAM_HOST%' } };
      const path = [...CONNECTION_MANAGER, 'route_config', 'response_headers_to_add'];
      config.setIn(path, config.createNode([header]));
      edit?.(config);
    },
  });
  const { listenerPort, pid, stop } = await startEnvoy({
    binary,
    configYaml,
    log: () => undefined,
  });
  return { url: `http://127.0.0.1:${listenerPort}`, pid, stop };
}

const PICKER_CLUSTER = ['static_resources', 'clusters', 1];
const PICKER_ENDPOINTS = [...PICKER_CLUSTER, 'load_assignment', 'endpoints', 0, 'lb_endpoints'];

/** One request of the load. Times are of `performance.now()`. */
export interface Sent {
  readonly startedAt: number;
  readonly endedAt: number;
  /** Undefined where there was no complete answer. */
  readonly status: number | undefined;
  readonly servedBy: string | undefined;
  /** What went wrong. */
  readonly error: string | undefined;
  /** The tokens of the prompt, and how many the server had cached, as it reports them. */
  readonly usage: { readonly promptTokens: number; readonly cachedTokens: number } | undefined;
}

export interface Load {
  readonly sent: readonly Sent[];
  /** Stops sending, and waits for the answers. */
  stop(): Promise<void>;
}

interface LoadOptions {
  readonly url: string;
  /** Requests go to each of all in turn, and to the next where a connection is refused. */
  readonly otherUrls?: readonly string[];
  readonly perSecond: number;
  readonly requestsMax?: number;
  /** After this a client gives up. */
  readonly patienceMs?: number;
  /** The length of each answer. */
  readonly tokens?: number;
  /** The prompt of the request with this number. */
  readonly prompt?: (n: number) => string;
}

/** Sends requests at a steady rate, whatever becomes of those before. */
export function startLoad(options: LoadOptions): Load {
  const {
    url,
    otherUrls = [],
    perSecond,
    requestsMax = Number.POSITIVE_INFINITY,
    patienceMs = 60_000,
    tokens = 2,
    prompt = (n) => `request ${n}`,
  } = options;
  const agent = new Agent({ connections: null, headersTimeout: 0, bodyTimeout: 0 });
  const sent: Sent[] = [];
  const open = new Set<Promise<void>>();
  const from = performance.now();
  let count = 0;
  const one = async (startedAt: number, n: number): Promise<void> => {
    let status: number | undefined;
    let servedBy: string | undefined;
    let error: string | undefined;
    let usage: Sent['usage'];
    try {
      const answer = await requestOfOne(turned([url, ...otherUrls], n), {
        dispatcher: agent,
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'm',
          prompt: prompt(n),
          max_tokens: tokens,
          ignore_eos: true,
        }),
        signal: AbortSignal.timeout(patienceMs),
      });
      const text = await answer.body.text();
      status = answer.statusCode;
      servedBy = String(answer.headers[SERVED_BY]);
      if (status !== 200) error = `${status} ${text.slice(0, 100)}`;
      else usage = usageOf(text);
    } catch (failure) {
      error = messageOf(failure);
    }
    sent.push({ startedAt, endedAt: performance.now(), status, servedBy, error, usage });
  };
  const timer = setInterval(() => {
    const due = Math.min(requestsMax, ((performance.now() - from) / 1000) * perSecond);
    while (count < due) {
      const sending = one(performance.now(), count++).finally(() => open.delete(sending));
      open.add(sending);
    }
  }, 5);
  return {
    sent,
    stop: async () => {
      clearInterval(timer);
      await Promise.all(open);
      await agent.close();
    },
  };
}

const turned = (urls: readonly string[], by: number): readonly string[] => [
  ...urls.slice(by % urls.length),
  ...urls.slice(0, by % urls.length),
];

/** Asks the first that does not refuse the connection. */
async function requestOfOne(
  [first = '', ...others]: readonly string[],
  options: NonNullable<Parameters<typeof request>[1]>,
): ReturnType<typeof request> {
  try {
    return await request(`${first}/v1/completions`, options);
  } catch (error) {
    const refused = (error as NodeJS.ErrnoException).code === 'ECONNREFUSED';
    if (!refused || others.length === 0) throw error;
    return requestOfOne(others, options);
  }
}

function usageOf(text: string): Sent['usage'] {
  const { usage } = JSON.parse(text) as {
    readonly usage: {
      readonly prompt_tokens: number;
      readonly prompt_tokens_details?: { readonly cached_tokens: number } | null;
    };
  };
  const cachedTokens = usage.prompt_tokens_details?.cached_tokens ?? 0;
  return { promptTokens: usage.prompt_tokens, cachedTokens };
}

export const failed = (sent: readonly Sent[]): readonly Sent[] =>
  sent.filter(({ error }) => error !== undefined);

/** The most frequent errors with their numbers, for a reader. */
export function errorsOf(sent: readonly Sent[]): string {
  const counts = new Map<string, number>();
  for (const { error = '' } of failed(sent)) counts.set(error, (counts.get(error) ?? 0) + 1);
  const sorted = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 3);
  return sorted.map(([error, count]) => `${count} × ${error}`).join('; ');
}

/** Collects what a drill has measured beside what is asked. */
export interface DrillReport {
  row(what: string, measured: string, asked: string, holds: boolean): void;
  /** A row that holds where none of these failed. */
  noneFailed(sent: readonly Sent[], how?: string): void;
  note(text: string): void;
}

/**
 * Runs a drill, prints its rows, `load` in the headline, and sets the exit code: 1 where a bound is
 * missed.
 */
export async function drill(
  about: string,
  run: (report: DrillReport) => Promise<void>,
  load = `${PER_SECOND} requests/s`,
): Promise<void> {
  process.stdout.write(`${about} (${load})\n`);
  let missed = 0;
  const started = performance.now();
  const row: DrillReport['row'] = (what, measured, asked, holds) => {
    if (!holds) missed += 1;
    process.stdout.write(
      `  ${holds ? 'holds ' : 'MISSED'} ${what}: ${measured} (asked: ${asked})\n`,
    );
  };
  await run({
    row,
    noneFailed: (sent, how = '') => {
      const errors = errorsOf(sent);
      row(`failed of ${sent.length}${how}`, errors || '0', '0', errors === '');
    },
    note: (text) => void process.stdout.write(`         ${text}\n`),
  });
  process.stdout.write(`  ${((performance.now() - started) / 1000).toFixed(0)} s\n`);
  process.exit(missed === 0 ? 0 : 1);
}

export { sleep };
