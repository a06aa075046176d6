import { type Document, isSeq } from 'yaml';
import { planFrom } from '../../src/catalogue/plan.ts';
import { limitsFor } from '../../src/extproc/server/port/server-limits.ts';
import { EARLY_PICK_BYTES } from '../../src/extproc/session/session-rules.ts';
import { fetchEnvoy } from '../../src/lab/envoy/fetch-envoy.ts';
import {
  CONNECTION_MANAGER,
  type EnvoyConfigOptions,
  renderEnvoyConfig,
} from '../../src/lab/envoy/render-config.ts';
import { startEnvoy } from '../../src/lab/envoy/run-envoy.ts';
import { createLog } from '../../src/runtime/log/log.ts';
import {
  type ServeOptions,
  type ServeSettings,
  serveOptionsOf,
} from '../../src/serve/options/serve-options.ts';
import { type Serving, startServe } from '../../src/serve/serve.ts';

export interface StackOptions {
  readonly envoy: EnvoyConfigOptions['wiring'];
  readonly endpoints: readonly string[];
  readonly config?: string;
  readonly serve?: Partial<ServeSettings>;
  readonly failureModeAllow?: boolean;
  /** Final changes to the Envoy configuration. */
  readonly edit?: NonNullable<EnvoyConfigOptions['edit']>;
}

export interface Stack {
  /** The URL for clients. */
  readonly url: string;
  readonly serving: Serving;
  /** The picker's requests in flight. */
  inFlight(): Promise<number>;
  stop(): Promise<void>;
}

let envoy: Promise<string | undefined> | undefined;

/**
 * The path of a real Envoy, asked for once in a process, which runs it to see whether it works.
 * Where there is none: undefined with a message, or in CI an error.
 */
export function envoyBinary(): Promise<string | undefined> {
  envoy ??= findEnvoy();
  return envoy;
}

async function findEnvoy(): Promise<string | undefined> {
  const log = (line: string): void => void process.stderr.write(`${line}\n`);
  const fetched = await fetchEnvoy({ log });
  if ('path' in fetched) return fetched.path;
  if (process.env['CI'] !== undefined) throw new Error(fetched.unavailable);
  log(`SKIPPED: every test that needs a real Envoy. ${fetched.unavailable}`);
  return undefined;
}

export function serveOptions(overrides: Partial<ServeSettings>, config = 'default'): ServeOptions {
  return serveOptionsOf({
    plan: planFrom(config),
    endpoints: [],
    endpointsFile: undefined,
    poolName: 'test',
    readyMinFresh: 0,
    dnsKeepMs: 300_000,
    host: '127.0.0.1',
    extProcPort: 0,
    healthPort: undefined,
    metricsPort: 0,
    insecure: true,
    certPath: undefined,
    bodyBytesMax: 64 * 1024 * 1024,
    earlyPickBytes: EARLY_PICK_BYTES,
    halfCloseAfterPick: false,
    drainNoticeMs: 0,
    drainTimeoutMs: 1000,
    limits: limitsFor(2 ** 30),
    explainDecisions: 100_000,
    seed: 1,
    log: createLog('silent'),
    // The tests that start a picker here hold with I/O workers, too: see CONTRIBUTING.md. An observer
    // cannot have them.
    ioWorkers: overrides.observe === true ? 0 : Number(process.env['IO_WORKERS'] ?? 0),
    ...overrides,
  });
}

/** Starts a picker and Envoy on free ports of the loopback. */
export async function startStack(binary: string, options: StackOptions): Promise<Stack> {
  const { endpoints, config, serve = {} } = options;
  const serving = await startServe(serveOptions({ endpoints, ...serve }, config));
  const envoy = await startEnvoyFor(binary, options, serving.extProcPort);
  return {
    url: envoy.url,
    serving,
    inFlight: () => inFlightAt(serving.metricsPort),
    stop: async () => {
      await envoy.stop();
      await serving.stop();
    },
  };
}

export async function startEnvoyFor(
  binary: string,
  { envoy, serve = {}, failureModeAllow, edit }: StackOptions,
  pickerPort: number,
): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const configYaml = renderEnvoyConfig({
    wiring: envoy,
    listenerPort: 0,
    extProcAddress: `127.0.0.1:${pickerPort}`,
    extProcTls: serve.insecure === false,
    ...(failureModeAllow !== undefined && { failureModeAllow }),
    edit: (config) => {
      waitForPickers(config);
      edit?.(config);
    },
  });
  const log = (): void => undefined;
  const running = await startEnvoy({ binary, configYaml, log });
  return { url: `http://127.0.0.1:${running.listenerPort}`, stop: running.stop };
}

/**
 * Envoy as shipped takes a picker for gone that does not answer for some seconds. A test's picker
 * shares a process with servers and clients, and on a busy machine it may be that late.
 */
export function waitForPickers(config: Document): void {
  const clusters = config.getIn(['static_resources', 'clusters']);
  const count = isSeq(clusters) ? clusters.items.length : 0;
  for (let at = 0; at < count; at++) {
    const cluster = ['static_resources', 'clusters', at];
    for (const path of [HEALTH_CHECK, PING]) {
      const timeout = [...cluster, ...path, 'timeout'];
      if (config.hasIn(timeout)) config.setIn(timeout, '60s');
    }
  }
}

/**
 * What a comment of `deploy/envoy-efficient.yaml` says for the beginning of a body in one message.
 */
export function showBeginnings(config: Document): void {
  const filter = [...CONNECTION_MANAGER, 'http_filters', 0, 'typed_config'];
  config.setIn([...filter, 'processing_mode', 'request_body_mode'], 'BUFFERED_PARTIAL');
  config.deleteIn([...filter, 'send_body_without_waiting_for_header_response']);
  const listener = ['static_resources', 'listeners', 0];
  config.setIn([...listener, 'per_connection_buffer_limit_bytes'], BEGINNING_BYTES);
}

const BEGINNING_BYTES = 65_536;
const HEALTH_CHECK = ['health_checks', 0];
const HTTP_OPTIONS = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions';
const PING = [
  'typed_extension_protocol_options',
  HTTP_OPTIONS,
  'explicit_http_config',
  'http2_protocol_options',
  'connection_keepalive',
];

interface Described {
  readonly endpoints: readonly { readonly inFlight: { readonly requests: number } }[];
}

export async function inFlightAt(metricsPort: number): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${metricsPort}/debug/endpoints`);
  const { endpoints } = (await response.json()) as Described;
  return endpoints.reduce((sum, { inFlight }) => sum + inFlight.requests, 0);
}

const ATTEMPT_MS = 25;
const QUICK_ATTEMPTS = 40;
/** Attempts that pass between two questions after the quick ones. */
const SLOW_TURNS = 4;

/**
 * Asks 40 times a second until the answer is right, and after the first second 10 times: what takes
 * longer than that, such as the end of a lease, costs both sides CPU with each question. Fails with
 * the last answer, by default after a minute: a busy machine may need that long.
 */
export async function eventually<T>(
  ask: () => T | Promise<T>,
  right: (answer: T) => boolean,
  attempts = 2400,
): Promise<T> {
  let answer = await ask();
  for (let attempt = 0; attempt < attempts && !right(answer); ) {
    const turns = attempt < QUICK_ATTEMPTS ? 1 : SLOW_TURNS;
    await new Promise((resolve) => setTimeout(resolve, turns * ATTEMPT_MS));
    attempt += turns;
    answer = await ask();
  }
  if (!right(answer))
    throw new Error(`no right answer in ${attempts} attempts; the last: ${JSON.stringify(answer)}`);
  return answer;
}
