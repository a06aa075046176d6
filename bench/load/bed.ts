import { join } from 'node:path';
import { request } from 'undici';
import { packageFile } from '../../src/files/folders.ts';
import { renderEnvoyConfig } from '../../src/lab/envoy/render-config.ts';
import { startEnvoy } from '../../src/lab/envoy/run-envoy.ts';
import type { PageSize } from './answers.ts';
import { type Child, type Keep, startChild, startTogether } from './child.ts';

export interface Tools {
  readonly envoyPath: string;
  /** What is measured beside our picker, if anything. */
  readonly other: OtherSide | undefined;
  readonly log: (line: string) => void;
  /** Flags of the picker's Node, such as `--cpu-prof`. */
  readonly nodeFlags: readonly string[];
  /** Flags of `serve` for our picker only. */
  readonly oursFlags?: readonly string[];
}

/** A bare Go ext_proc echo, or the picker of another checkout with installed packages. */
export type OtherSide =
  | { readonly kind: 'yardstick'; readonly path: string }
  | { readonly kind: 'picker'; readonly folder: string };

export interface BedOptions {
  readonly config: string;
  readonly endpoints: number;
  readonly page: PageSize;
  readonly answerChunks: number;
}

/** An ext_proc server behind an Envoy that no other server uses. */
export interface Side {
  /** Process id of the ext_proc server. */
  readonly pid: number;
  /** Port where Envoy takes requests. */
  readonly port: number;
  pause(): void;
  resume(): void;
}

export interface Bed {
  readonly ours: Side;
  readonly other: Side | undefined;
  /** How many metrics pages the model servers have served so far. */
  scrapes(): Promise<number>;
  stop(): Promise<void>;
}

/**
 * Both ext_proc servers before the same model servers, each behind a real Envoy in full duplex,
 * ours scraping.
 */
export async function startBed(options: BedOptions, tools: Tools): Promise<Bed> {
  return startTogether(async (keep) => {
    const upstream = keep(await startUpstream(options, tools));
    const addresses = addressesOf(upstream);
    const scrapes = (): Promise<number> => scrapesSeen(addresses[0] ?? '');
    const { oursFlags: flags = [] } = tools;
    const picker = keep(await startPicker({ ...options, flags }, addresses, tools));
    const { extProcPort } = picker.said as { readonly extProcPort: number };
    const ours = await behindEnvoy(picker, extProcPort, tools, keep);
    if (tools.other === undefined) return { ours, other: undefined, scrapes };
    const beside = keep(await startOther(options, addresses, tools, tools.other));
    const { extProcPort: otherPort } = beside.said as { readonly extProcPort: number };
    const other = await behindEnvoy(beside, otherPort, tools, keep);
    return { ours, other, scrapes };
  });
}

/** Starts model servers that use very little CPU; see `addressesOf`. */
export function startUpstream(
  options: Omit<BedOptions, 'config'>,
  { log }: Pick<Tools, 'log'>,
): Promise<Child> {
  const { endpoints, page, answerChunks } = options;
  const flags = `--endpoints ${endpoints} --page ${page} --chunks ${answerChunks}`;
  return startChild({
    name: 'upstream',
    command: process.execPath,
    args: [packageFile('bench/load/upstream.ts'), ...flags.split(' ')],
    log,
  });
}

/** Addresses of the model servers that `startUpstream` has started. */
export function addressesOf({ said }: Child): readonly string[] {
  const { ports } = said as { readonly ports: readonly number[] };
  return ports.map((port) => `127.0.0.1:${port}`);
}

async function scrapesSeen(address: string): Promise<number> {
  const { body } = await request(`http://${address}/scrapes`);
  return Number(await body.text());
}

/** `said` has `extProcPort`. */
async function startOther(
  options: BedOptions,
  addresses: readonly string[],
  tools: Tools,
  other: OtherSide,
): Promise<Child> {
  if (other.kind === 'picker') {
    return startPicker({ ...options, main: join(other.folder, 'src/main.ts') }, addresses, tools);
  }
  const echo = await startChild({
    name: 'yardstick',
    command: other.path,
    args: ['-destination', addresses[0] ?? ''],
    log: tools.log,
  });
  const { port } = echo.said as { readonly port: number };
  return { ...echo, said: { extProcPort: port } };
}

/** Starts `pointsman serve` as a process. `said` has `extProcPort` and `metricsPort`. */
export function startPicker(
  {
    config,
    flags: more = [],
    main = packageFile('src/main.ts'),
  }: Pick<BedOptions, 'config'> & { readonly flags?: readonly string[]; readonly main?: string },
  addresses: readonly string[],
  { log, nodeFlags }: Pick<Tools, 'log' | 'nodeFlags'>,
): Promise<Child> {
  const flags =
    'serve --json --insecure --host 127.0.0.1 --log-level warn ' +
    `--extproc-port 0 --metrics-port 0 --drain-timeout-ms 500 --config ${config} ` +
    `--endpoints ${addresses.join(',')}`;
  return startChild({
    name: 'picker',
    command: process.execPath,
    args: [...nodeFlags, main, ...flags.split(' '), ...more],
    log,
  });
}

/** Starts an Envoy in full duplex in front of an ext_proc server. */
export async function behindEnvoy(
  child: Child,
  port: number,
  { envoyPath, log }: Pick<Tools, 'envoyPath' | 'log'>,
  keep: Keep,
): Promise<Side> {
  const configYaml = renderEnvoyConfig({
    wiring: 'envoy',
    listenerPort: 0,
    extProcAddress: `127.0.0.1:${port}`,
  });
  const options = { binary: envoyPath, configYaml, log: (line: string) => log(`envoy: ${line}`) };
  const envoy = keep(await startEnvoy(options));
  return {
    pid: child.pid,
    port: envoy.listenerPort,
    pause: () => child.pause(),
    resume: () => child.resume(),
  };
}
