import { execFile } from 'node:child_process';
import { type Document, parse } from 'yaml';
import type { Finding } from '../../src/doctor/finding.ts';
import { isPlainObject } from '../../src/framework/values/plain-object.ts';
import {
  CONNECTION_MANAGER,
  type EnvoyConfigOptions,
  renderEnvoyConfig,
} from '../../src/lab/envoy/render-config.ts';
import { startEnvoy } from '../../src/lab/envoy/run-envoy.ts';
import { PROGRAM } from './programs/program.ts';
import { RunsInTurn } from './programs/runs-in-turn.ts';

/** What `pointsman doctor` prints, and its exit code. */
export interface Diagnosis {
  readonly code: number;
  readonly text: string;
}

let runs: RunsInTurn | undefined;

/** In a process that has the modules already, until `endDoctor`. */
export async function doctor(...flags: readonly string[]): Promise<Diagnosis> {
  runs ??= new RunsInTurn();
  const { code, stdout, stderr } = await runs.run(['doctor', ...flags]);
  if (code === undefined) throw new Error('a run has no code before its end');
  return { code, text: stdout + stderr };
}

export async function endDoctor(): Promise<void> {
  await runs?.stop();
  runs = undefined;
}

/** In a process of its own, which has to end by itself. */
export function doctorAlone(...flags: readonly string[]): Promise<Diagnosis> {
  return new Promise((resolve) => {
    execFile(process.execPath, [PROGRAM, 'doctor', ...flags], (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), text: stdout + stderr });
    });
  });
}

/** A change of a shipped Envoy configuration. */
export type Edit = (config: Document) => void;
type Path = readonly (string | number)[];

export const FILTER: Path = [...CONNECTION_MANAGER, 'http_filters', 0, 'typed_config'];
/** The filter before it, in a test that adds one. */
const BUFFER: Path = [...CONNECTION_MANAGER, 'http_filters', 1, 'typed_config'];
export const ACCESS_LOG: Path = [...CONNECTION_MANAGER, 'access_log', 0];
/** Where it is sent, below it. */
export const LOG_CLUSTER: Path = [
  'typed_config',
  'common_config',
  'grpc_service',
  'envoy_grpc',
  'cluster_name',
];
export const LISTENER: Path = ['static_resources', 'listeners', 0];
const ROUTE_ENTRY: Path = [...CONNECTION_MANAGER, 'route_config', 'virtual_hosts', 0, 'routes', 0];
export const ROUTE: Path = [...ROUTE_ENTRY, 'route'];
const CLUSTERS: Path = ['static_resources', 'clusters'];
export const SERVERS: Path = [...CLUSTERS, 0];
export const PICKER: Path = [...CLUSTERS, 1];
export const HTTP_OPTIONS: Path = [
  'typed_extension_protocol_options',
  'envoy.extensions.upstreams.http.v3.HttpProtocolOptions',
];
export const HTTP2: Path = [...HTTP_OPTIONS, 'explicit_http_config'];

export const set =
  (path: Path, value: unknown): Edit =>
  (config) =>
    config.setIn(path, config.createNode(value));
export const remove =
  (path: Path): Edit =>
  (config) =>
    void config.deleteIn(path);
export const mode = (more: Readonly<Record<string, string>>): Edit =>
  set([...FILTER, 'processing_mode'], { request_header_mode: 'SEND', ...more });

interface AskedEnvoy {
  readonly binary: string;
  readonly extProcAddress: string;
  readonly wiring: EnvoyConfigOptions['wiring'];
  readonly edits: readonly Edit[];
}

/** What the doctor says of an Envoy that has made its first health check. */
export async function diagnosed(
  { binary, extProcAddress, wiring, edits }: AskedEnvoy,
  ...flags: readonly string[]
): Promise<Diagnosis> {
  const configYaml = renderEnvoyConfig({
    wiring,
    listenerPort: 0,
    extProcAddress,
    ...(wiring === 'envoy-observer' && { observerAddress: extProcAddress }),
    edit: (config) => edits.forEach((edit) => edit(config)),
  });
  const envoy = await startEnvoy({ binary, configYaml, log: () => undefined });
  try {
    return await doctor('--envoy', `127.0.0.1:${envoy.adminPort}`, ...flags);
  } finally {
    await envoy.stop();
  }
}

/** Pastes the lines of findings where each says, as a reader would. */
export function pasted(findings: readonly Finding[]): Edit {
  return (config) => {
    for (const { where, lines = [] } of findings) {
      const text = lines.join('\n');
      const [here = '', clusters] = text.split('# and among the clusters:\n');
      for (const each of where.split('; ')) {
        const place = placeOf(config, each, text);
        const given = [...place, ...HTTP2, 'http_protocol_options'];
        if (text.includes('# in place of http_protocol_options')) config.deleteIn(given);
        merge(config, place, parse(here));
      }
      if (clusters !== undefined) config.addIn(CLUSTERS, config.createNode(parse(clusters)[0]));
    }
  };
}

function placeOf(config: Document, where: string, text: string): Path {
  if (text.includes('# of the listener')) return LISTENER;
  if (text.includes('# of the HTTP connection manager')) return CONNECTION_MANAGER;
  if (text.includes('# of the filter envoy.filters.http.buffer')) return BUFFER;
  if (where.startsWith('filter ')) return FILTER;
  if (where.includes('route ') && !text.includes('# of the cluster')) return ROUTE_ENTRY;
  const name = /^cluster ([^,]+)/.exec(where)?.[1];
  const at = [0, 1].find((place) => config.getIn([...CLUSTERS, place, 'name']) === name);
  if (at === undefined) throw new Error(`nothing says where to paste: ${where}`);
  return [...CLUSTERS, at];
}

/** Maps are merged; any other value takes the place of the one before. */
function merge(config: Document, path: Path, value: unknown): void {
  if (!isPlainObject(value)) {
    config.setIn(path, config.createNode(value));
    return;
  }
  if (!config.hasIn(path)) config.setIn(path, config.createNode({}));
  for (const [key, each] of Object.entries(value)) merge(config, [...path, key], each);
}
