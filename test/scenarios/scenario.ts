import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { envoyBinary, eventually, startEnvoyFor } from '../../bench/support/stack.ts';
import {
  answers,
  freePort,
  isReplaced,
  PICKER,
  type Program,
  SIDECAR,
  SIMULATOR,
  startProgram,
} from './processes.ts';

export const binary: string | undefined = await envoyBinary();
export const MODEL = 'food-review';

/** A model server in a process of its own, or with others of a pool in one. */
export interface Server {
  /** `127.0.0.1:port`. */
  readonly address: string;
  /** `llm-d.ai/role`. */
  readonly role: string;
  /** The program; the same for all servers of one pool. */
  readonly program: Program;
}

interface Picker {
  readonly extProcPort: number;
  readonly metricsPort: number;
  readonly program: Program;
}

/** One deployment: model servers, sidecars, a picker, and a real Envoy before it. */
export class Scenario {
  readonly #folder = mkdtempSync(join(tmpdir(), 'pointsman-scenario-'));
  readonly #programs: Program[] = [];
  readonly #stops: (() => Promise<void>)[] = [];
  #picker: Picker | undefined;
  #configFile = '';
  url = '';

  /** Starts servers with these roles. `options` are those of our stub, such as `sharedStorage`. */
  async startServers(
    roles: readonly string[],
    options: Readonly<Record<string, unknown>> = {},
  ): Promise<readonly Server[]> {
    if (isReplaced(SIMULATOR)) return this.startSimulators(roles);
    // One process for all: with twenty of them the tests would take minutes.
    const known = (role: string): string => (/^(?:prefill|decode)$/.test(role) ? role : 'both');
    const servers = roles.map((role) => ({
      role: known(role),
      ...(role === 'encode' && { encoderOnly: true, servesEncodings: true }),
    }));
    const file = this.write('pool.yaml', { port: 0, speed: 10, model: MODEL, ...options, servers });
    const program = this.#keep(startProgram(SIMULATOR, ['stub', '--pool', file]));
    const { endpoints } = (await program.document) as { readonly endpoints: readonly string[] };
    const ranks = endpoints.length / roles.length;
    return endpoints.map((address, index) => ({
      address,
      role: roles[Math.floor(index / ranks)] ?? '',
      program,
    }));
  }

  /** Starts servers in processes of their own, by the command line of llm-d-inference-sim. */
  startSimulators(
    roles: readonly string[],
    flags: readonly string[] = [],
  ): Promise<readonly Server[]> {
    return Promise.all(roles.map((role) => this.#startSimulator(role, flags)));
  }

  async #startSimulator(role: string, flags: readonly string[]): Promise<Server> {
    const port = await freePort();
    const args = ['--model', MODEL, '--port', String(port), '--mode', 'random', ...flags];
    const program = this.#keep(startProgram(SIMULATOR, args, []));
    await answers(`http://127.0.0.1:${port}/health`);
    return { address: `127.0.0.1:${port}`, role, program };
  }

  /** Starts a sidecar before each server, and gives these in their places. */
  async withSidecars(
    servers: readonly Server[],
    flags: readonly string[],
  ): Promise<readonly Server[]> {
    const start = async ({ address, role }: Server): Promise<Server> => {
      const port = isReplaced(SIDECAR) ? await freePort() : 0;
      const args = [
        `--port=${port}`,
        `--model-server-port=${address.split(':')[1] ?? ''}`,
        '--secure-serving=false',
        ...flags,
      ];
      const program = this.#keep(startProgram(SIDECAR, args, ['--host=127.0.0.1', '--json']));
      if (port !== 0) {
        await answers(`http://127.0.0.1:${port}/health`);
        return { address: `127.0.0.1:${port}`, role, program };
      }
      const document = (await program.document) as { readonly address: string };
      return { address: document.address, role, program };
    };
    return Promise.all(servers.map(start));
  }

  /** Starts the picker with these plugins and profiles, and Envoy before it. */
  async start(config: object, servers: readonly Server[]): Promise<void> {
    const endpointsFile = join(this.#folder, 'endpoints.yaml');
    this.setEndpoints(servers);
    const { plugins, ...rest } = config as { readonly plugins: readonly object[] };
    const file = { type: 'file-discovery', parameters: { path: endpointsFile, watchFile: true } };
    this.#configFile = this.write('config.yaml', {
      apiVersion: 'llm-d.ai/v1alpha1',
      kind: 'EndpointPickerConfig',
      ...rest,
      plugins: [...plugins, file],
      dataLayer: { discovery: { pluginRef: 'file-discovery' } },
    });
    this.#picker = await this.startPicker();
    const { extProcPort } = this.#picker;
    const options = { envoy: 'envoy', endpoints: [], serve: { insecure: true } } as const;
    const envoy = await startEnvoyFor(binary ?? '', options, extProcPort);
    this.#stops.push(() => envoy.stop());
    this.url = envoy.url;
    if (servers.length === 0) return;
    await eventually(
      () => this.status(),
      (status) => status === 200,
    );
  }

  /** Starts the picker with the same flags, the second time on the same port. */
  async startPicker(): Promise<Picker> {
    const replaced = isReplaced(PICKER);
    const before = this.#picker;
    const extProcPort = before?.extProcPort ?? (await freePort());
    const metrics = replaced ? await freePort() : 0;
    const health = replaced ? await freePort() : 0;
    const args = [
      '--pool-name=pool',
      `--config-file=${this.#configFile}`,
      `--grpc-port=${extProcPort}`,
      `--grpc-health-port=${health}`,
      `--metrics-port=${metrics}`,
      '--secure-serving=false',
      '--metrics-endpoint-auth=false',
      '--zap-log-level=error',
    ];
    const program = this.#keep(startProgram(PICKER, args, ['--host=127.0.0.1', '--json']));
    if (replaced) {
      await answers(`http://127.0.0.1:${metrics}/metrics`);
      return { extProcPort, metricsPort: metrics, program };
    }
    const document = (await program.document) as Pick<Picker, 'extProcPort' | 'metricsPort'>;
    return { ...document, program };
  }

  /** Ends the picker at once. */
  async killPicker(): Promise<void> {
    await this.#picker?.program.kill();
  }

  async restartPicker(): Promise<void> {
    this.#picker = await this.startPicker();
  }

  /** The servers that the picker knows from now on. */
  setEndpoints(servers: readonly Server[]): void {
    const endpoints = servers.map(({ address, role }) => {
      const port = Number(address.split(':')[1]);
      const labels = { 'llm-d.ai/role': role };
      return { name: `${role}-${port}`, address: '127.0.0.1', port, labels };
    });
    this.write('endpoints.yaml', { endpoints });
  }

  /** A completion of a few tokens. */
  complete(prompt: string, extra: object = {}, headers: object = {}): Promise<Response> {
    return this.post('/v1/completions', { prompt, max_tokens: 4, ...extra }, headers);
  }

  /** A chat of a few tokens. */
  chat(content: unknown, extra: object = {}): Promise<Response> {
    const messages = [{ role: 'user', content }];
    return this.post('/v1/chat/completions', { messages, max_tokens: 4, ...extra });
  }

  post(path: string, body: object, headers: object = {}): Promise<Response> {
    return fetch(`${this.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: MODEL, ...body }),
      signal: AbortSignal.timeout(60_000),
    });
  }

  async status(): Promise<number> {
    const response = await this.post('/v1/completions', { prompt: 'ready?', max_tokens: 1 });
    await response.text();
    return response.status;
  }

  /** The sum of a family of the picker, over the samples that contain all these texts. */
  async metric(family: string, ...labels: readonly string[]): Promise<number> {
    return sumOf(`http://127.0.0.1:${this.#picker?.metricsPort ?? 0}/metrics`, family, labels);
  }

  write(name: string, value: object): string {
    const path = join(this.#folder, name);
    // JSON is YAML.
    writeFileSync(path, JSON.stringify(value));
    return path;
  }

  async stop(): Promise<void> {
    for (const stop of this.#stops) await stop();
    await Promise.all(this.#programs.map((program) => program.kill()));
    rmSync(this.#folder, { recursive: true });
  }

  #keep(program: Program): Program {
    this.#programs.push(program);
    return program;
  }
}

/** How many requests a model server has served. */
export function servedBy({ address }: Server): Promise<number> {
  return sumOf(`http://${address}/metrics`, 'vllm:request_success_total', []);
}

/** Runs a request, and says which of the servers have served how many more since before. */
export async function servers(
  among: readonly Server[],
  request: () => Promise<Response>,
): Promise<readonly Server[]> {
  const before = await Promise.all(among.map(servedBy));
  const response = await request();
  await response.text();
  if (response.status !== 200) throw new Error(`answered ${response.status}`);
  const counts = await eventually(
    () => Promise.all(among.map(servedBy)),
    (after) => after.some((count, index) => count > (before[index] ?? 0)),
  );
  return among.filter((_, index) => (counts[index] ?? 0) > (before[index] ?? 0));
}

/** The sum of a family of a metrics page, over the samples that contain all these texts. */
export async function sumOf(
  url: string,
  family: string,
  labels: readonly string[] = [],
): Promise<number> {
  const page = await (await fetch(url)).text();
  return page
    .split('\n')
    .filter((line) => line.startsWith(`${family}{`) || line.startsWith(`${family} `))
    .filter((line) => labels.every((label) => line.includes(label)))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}
