import { request } from 'undici';
import { packageFile } from '../../src/files/folders.ts';
import { renderEnvoyConfig } from '../../src/lab/envoy/render-config.ts';
import { startEnvoy } from '../../src/lab/envoy/run-envoy.ts';
import { showBeginnings, waitForPickers } from '../support/stack.ts';
import type { PageKind } from './answers.ts';
import { type Child, type Keep, startChild, startTogether } from './child.ts';

/** Envoy sends chunks separately if they are so far apart, as tokens of a model are. */
const CHUNK_GAP_MS = 10;
/** In what V8 prints of a collection of the whole heap. */
const FULL_COLLECTION = 'Mark-Compact';

export interface Tools {
  readonly envoyPath: string;
  /** What is measured beside our picker, if anything. */
  readonly other: OtherSide | undefined;
  readonly log: (line: string) => void;
  /** The main file of our picker; the sources' where left out. */
  readonly main?: string;
  /** Flags of the picker's Node, such as `--cpu-prof`. */
  readonly nodeFlags: readonly string[];
  /** Flags of `serve` for our picker only. */
  readonly oursFlags?: readonly string[];
}

/** A bare Go ext_proc echo, or another picker by its main file, with flags of `serve` for it. */
export type OtherSide =
  | { readonly kind: 'yardstick'; readonly path: string }
  | { readonly kind: 'picker'; readonly main: string; readonly flags?: readonly string[] };

export interface BedOptions {
  readonly config: string;
  readonly endpoints: number;
  readonly page: PageKind;
  readonly answerChunks: number;
  /** Milliseconds between two chunks; 0 for answers that are written at once. */
  readonly chunkGapMs?: number;
  /** Each model server on an address of its own, all with the same port, as pods are. */
  readonly asPods?: boolean;
  /** Default: full duplex. */
  readonly wiring?: Wiring;
  /** Have the picker's Node report what it collects. */
  readonly collections?: boolean;
}

/**
 * `envoy` is full duplex. `envoy-partial` is `envoy-efficient.yaml` as its comment says for Envoys
 * that show the picker only the beginning of a large body.
 */
export type Wiring = 'envoy' | 'envoy-efficient' | 'envoy-partial';

/** An ext_proc server behind an Envoy that no other server uses. */
export interface Side {
  /** Process id of the ext_proc server, whose CPU and memory are measured. */
  readonly pid: number;
  /** Port where Envoy takes requests. */
  readonly port: number;
  pause(): void;
  resume(): void;
  /** Collections of the whole heap so far; 0 unless they are reported. */
  collections(): number;
  /** How old the last sample of each endpoint is, in ms; empty for a server without samples. */
  sampleAges(): Promise<readonly number[]>;
}

export interface Bed {
  readonly ours: Side;
  readonly other: Side | undefined;
  /** How many metrics pages the model servers have served so far. */
  scrapes(): Promise<number>;
  stop(): Promise<void>;
}

/**
 * Both ext_proc servers before the same model servers, each behind a real Envoy, ours scraping.
 */
export async function startBed(options: BedOptions, tools: Tools): Promise<Bed> {
  return startTogether(async (keep) => {
    const upstream = keep(await startUpstream(options, tools));
    const addresses = addressesOf(upstream);
    const scrapes = (): Promise<number> => scrapesSeen(addresses[0] ?? '');
    const picker = keep(await startServer(options, addresses, tools));
    const { extProcPort } = picker.said as { readonly extProcPort: number };
    const { wiring } = options;
    const ours = await behindEnvoy(picker, extProcPort, { ...tools, wiring }, keep);
    if (tools.other === undefined) return { ours, other: undefined, scrapes };
    const beside = keep(await startServer(options, addresses, tools, tools.other));
    const { extProcPort: otherPort } = beside.said as { readonly extProcPort: number };
    const other = await behindEnvoy(beside, otherPort, { ...tools, wiring }, keep);
    return { ours, other, scrapes };
  });
}

/** Starts model servers that use very little CPU; see `addressesOf`. */
export function startUpstream(
  options: Omit<BedOptions, 'config'>,
  { log }: Pick<Tools, 'log'>,
): Promise<Child> {
  const { endpoints, page, answerChunks, chunkGapMs = CHUNK_GAP_MS, asPods = false } = options;
  const flags =
    `--endpoints ${endpoints} --page ${page} --chunks ${answerChunks} ` +
    `--chunk-gap-ms ${chunkGapMs}${asPods ? ' --as-pods' : ''}`;
  return startChild({
    name: 'upstream',
    command: process.execPath,
    args: [packageFile('bench/load/upstream.ts'), ...flags.split(' ')],
    log,
  });
}

/** Addresses of the model servers that `startUpstream` has started. */
export function addressesOf({ said }: Child): readonly string[] {
  return (said as { readonly addresses: readonly string[] }).addresses;
}

/** How many metrics pages all model servers of an upstream have served so far, asked of one. */
export async function scrapesSeen(address: string): Promise<number> {
  const { body } = await request(`http://${address}/scrapes`);
  return Number(await body.text());
}

/** Starts our picker, or the other side. `said` has `extProcPort`. */
export async function startServer(
  options: BedOptions,
  addresses: readonly string[],
  tools: Tools,
  other?: OtherSide,
): Promise<Child> {
  if (other === undefined) {
    const { oursFlags: flags = [], main } = tools;
    return startPicker({ ...options, flags, main }, addresses, tools);
  }
  if (other.kind === 'picker') {
    const { main, flags = [] } = other;
    return startPicker({ ...options, flags, main }, addresses, tools);
  }
  const echo = await startChild({
    name: 'yardstick',
    command: other.path,
    args: [
      '-destination',
      addresses[0] ?? '',
      ...(options.wiring === 'envoy-efficient' ? ['-efficient'] : []),
      ...(options.wiring === 'envoy-partial' ? ['-partial'] : []),
    ],
    log: tools.log,
  });
  const { port } = echo.said as { readonly port: number };
  return { ...echo, said: { extProcPort: port } };
}

/** Starts `pointsman serve` as a process. `said` has `extProcPort` and `metricsPort`. */
export function startPicker(
  {
    config,
    collections = false,
    flags: more = [],
    main = packageFile('src/main.ts'),
  }: Pick<BedOptions, 'config' | 'collections'> & {
    readonly flags?: readonly string[];
    readonly main?: string | undefined;
  },
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
    env: environmentOfImage(),
    args: [
      ...nodeFlags,
      ...(collections ? ['--trace-gc'] : []),
      main,
      ...flags.split(' '),
      ...more,
    ],
    log,
  });
}

/**
 * With what deploy/Dockerfile sets, and without the certificates that this machine may add to
 * Node's: they take memory where no container has them.
 */
function environmentOfImage(): NodeJS.ProcessEnv {
  const { NODE_EXTRA_CA_CERTS: _, ...env } = process.env;
  return { ...env, MALLOC_ARENA_MAX: '2' };
}

/**
 * Starts an Envoy in front of an ext_proc server, in full duplex unless another wiring is given.
 */
export async function behindEnvoy(
  child: Omit<Child, 'stop'>,
  port: number,
  {
    envoyPath,
    log,
    wiring = 'envoy',
  }: Pick<Tools, 'envoyPath' | 'log'> & { readonly wiring?: Wiring | undefined },
  keep: Keep,
): Promise<Side> {
  const configYaml = renderEnvoyConfig({
    wiring: wiring === 'envoy-partial' ? 'envoy-efficient' : wiring,
    listenerPort: 0,
    extProcAddress: `127.0.0.1:${port}`,
    edit(config) {
      // A side is stopped while the other is measured, and must not be taken for gone.
      waitForPickers(config);
      if (wiring === 'envoy-partial') showBeginnings(config);
    },
  });
  const options = { binary: envoyPath, configYaml, log: (line: string) => log(`envoy: ${line}`) };
  const envoy = keep(await startEnvoy(options));
  return {
    pid: child.pid,
    port: envoy.listenerPort,
    pause: () => child.pause(),
    resume: () => child.resume(),
    collections: () => child.linesWith(FULL_COLLECTION),
    sampleAges: () => sampleAgesOf(child),
  };
}

async function sampleAgesOf({ said }: Pick<Child, 'said'>): Promise<readonly number[]> {
  const { metricsPort } = said as { readonly metricsPort?: number };
  if (metricsPort === undefined) return [];
  const { body } = await request(`http://127.0.0.1:${metricsPort}/debug/endpoints`);
  const { endpoints } = (await body.json()) as {
    readonly endpoints: readonly { readonly metricsAgeMs?: number }[];
  };
  return endpoints.map(({ metricsAgeMs = Number.POSITIVE_INFINITY }) => metricsAgeMs);
}
