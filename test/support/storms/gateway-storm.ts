import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import type { Random } from '../../../src/framework/runtime.ts';
import { seededRandom } from '../../../src/runtime/seeded-random.ts';
import type { Fault } from '../../../stub-server/faults/fault.ts';
import type { StubPool } from '../../../stub-server/pool.ts';
import { type DrillPicker, startGateway, startPicker, startServers } from '../../drills/support.ts';
import { processorClient, requestBody, requestHeaders } from '../grpc/ext-proc-client.ts';
import { startCuttableProxy } from '../servers/cuttable-proxy.ts';

/** What a storm has seen and left behind. */
export interface GatewayStorm {
  readonly sent: number;
  readonly answered: number;
  /** How often each kind of fault has happened. */
  readonly faults: ReadonlyMap<string, number>;
  /** What is left of load and streams a while after the last request; empty for nothing. */
  readonly drift: readonly string[];
  /** Lines of the picker's log that speak of an error that nothing has caught. */
  readonly uncaught: readonly string[];
  /** Status of a request after the storm. */
  readonly statusAfter: number;
  readonly rssMb: number;
}

const SERVERS = 8;
/** So many requests are open at once. */
export const CLIENTS = 48;
const PATIENCE_MS = 2000;
/** Mean time between two changes of servers, files and gateways. */
const CHANGE_MS = 120;
/** Each of the two Envoys is killed and started again after so many changes. */
const CHANGES_PER_KILL = 60;
/** Envoy resets what its clients have left, and the picker releases it. */
const SETTLED_MS = 60_000;

const SERVER_FAULTS: readonly Fault[] = [
  { kind: 'refuse' },
  { kind: 'hang' },
  { kind: 'stuck' },
  { kind: 'crash' },
  { kind: 'slow', factor: 20 },
  { kind: 'error', status: 500, share: 0.5 },
  { kind: 'drop', afterTokens: 2, share: 0.5 },
  { kind: 'truncate', share: 0.5 },
  { kind: 'stale-metrics' },
  { kind: 'no-metrics' },
  { kind: 'garbage-metrics' },
];

const HEAD = 'apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\n';
/** The second has plugins that fail, the third is no configuration. */
const CONFIGS: readonly string[] = [
  `${HEAD}plugins: [{ type: predicted-cost-scorer }]
schedulingProfiles: [{ name: default, plugins: [{ pluginRef: predicted-cost-scorer }] }]
`,
  `${HEAD}plugins: [{ type: broken-filter }, { type: broken-scorer }, { type: queue-scorer }]
schedulingProfiles: [{ name: default, plugins: [{ pluginRef: broken-filter }, { pluginRef: broken-scorer }, { pluginRef: queue-scorer }] }]
`,
  `${HEAD}plugins: [{ type: no-such-scorer }`,
  `${HEAD}featureGates: [flowControl]
plugins: [{ type: queue-scorer }]
flowControl: { maxRequests: 20, defaultRequestTTL: 500ms, noEndpointRequestTTL: 500ms }
schedulingProfiles: [{ name: default, plugins: [{ pluginRef: queue-scorer }] }]
`,
];

/** Requests through real Envoys while clients, servers, gateways and files fail, by one seed. */
export async function gatewayStorm(seed: number, requests: number): Promise<GatewayStorm> {
  const storm = await Storm.start(seed);
  try {
    return await storm.run(requests);
  } finally {
    await storm.stop();
  }
}

type Gateway = Awaited<ReturnType<typeof startGateway>>;

class Storm {
  readonly #random: Random;
  readonly #servers: StubPool;
  readonly #folder: string;
  readonly #picker: DrillPicker;
  readonly #gateways: Gateway[];
  readonly #agent = new Agent({ connections: null, headersTimeout: 0, bodyTimeout: 0 });
  readonly #faults = new Map<string, number>();
  #sent = 0;
  #answered = 0;
  #over = false;

  private constructor(
    seed: number,
    parts: { servers: StubPool; folder: string; picker: DrillPicker; gateways: Gateway[] },
  ) {
    this.#random = seededRandom(seed);
    this.#servers = parts.servers;
    this.#folder = parts.folder;
    this.#picker = parts.picker;
    this.#gateways = parts.gateways;
  }

  static async start(seed: number): Promise<Storm> {
    const servers = await startServers(SERVERS);
    const folder = mkdtempSync(join(tmpdir(), 'pointsman-storm-'));
    writeEndpoints(folder, servers, () => true);
    writeConfig(folder, CONFIGS[0] ?? '');
    const [endpoints, config] = [join(folder, 'endpoints.yaml'), join(folder, 'config.yaml')];
    const plugin = join(import.meta.dirname, '..', 'plugins', 'broken-plugins.ts');
    const files = ['--endpoints-file', endpoints, '--config', config, '--plugin', plugin];
    const picker = await startPicker([...files, '--access-log']);
    const pickers = [picker.extProcPort];
    const gateways = [await startGateway({ pickers }), await startGateway({ pickers })];
    return new Storm(seed, { servers, folder, picker, gateways });
  }

  async run(requests: number): Promise<GatewayStorm> {
    const changes = this.#changes();
    await Promise.all(Array.from({ length: CLIENTS }, () => this.#client(requests)));
    this.#over = true;
    await changes;
    await this.#recover();
    const drift = await this.#settled();
    const statusAfter = await this.#statusOfOne();
    const page = await this.#picker.get('/metrics');
    return {
      sent: this.#sent,
      answered: this.#answered,
      faults: this.#faults,
      drift,
      uncaught: this.#picker.log.filter((line) => /uncaught|unhandled|fatal/i.test(line)),
      statusAfter,
      rssMb: Math.round(Number(/^process_resident_memory_bytes (\S+)/m.exec(page)?.[1]) / 2 ** 20),
    };
  }

  async stop(): Promise<void> {
    this.#over = true;
    this.#picker.process.kill('SIGKILL');
    await Promise.all(this.#gateways.map((gateway) => gateway.stop()));
    await this.#agent.destroy();
    await this.#servers.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #below(bound: number): number {
    return Math.floor(this.#random.next() * bound);
  }

  #one<T>(all: readonly T[]): T {
    return all[this.#below(all.length)] as T;
  }

  #count(fault: string): void {
    this.#faults.set(fault, (this.#faults.get(fault) ?? 0) + 1);
  }

  async #client(requests: number): Promise<void> {
    while (this.#sent < requests) {
      this.#sent += 1;
      await this.#sendOne(this.#sent);
    }
  }

  async #sendOne(n: number): Promise<void> {
    const chance = this.#random.next();
    if (chance < 0.7) return this.#ask(body(n), PATIENCE_MS);
    const fault = this.#one(CLIENT_FAULTS);
    this.#count(`client: ${fault}`);
    if (fault === 'leaves') return this.#ask(body(n, 200), this.#below(60));
    if (fault === 'is malformed') return this.#ask(body(n).slice(0, -1 - this.#below(20)));
    if (fault === 'is no JSON') return this.#ask('\u0000'.repeat(this.#below(1000)));
    if (fault === 'claims much') {
      return this.#ask(body(n, 1e15), this.#below(100));
    }
    if (fault === 'has long headers') return this.#ask(body(n), PATIENCE_MS, this.#below(80_000));
    if (fault === 'resets an upload') return this.#resetUpload();
    return this.#resetStream(n);
  }

  async #ask(text: string, patienceMs = PATIENCE_MS, headerBytes = 0): Promise<void> {
    try {
      const answer = await request(`${this.#one(this.#gateways).url}/v1/completions`, {
        dispatcher: this.#agent,
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(headerBytes > 0 && { 'x-long': 'y'.repeat(headerBytes) }),
        },
        body: text,
        signal: AbortSignal.timeout(patienceMs),
      });
      await answer.body.text();
      if (answer.statusCode === 200) this.#answered += 1;
    } catch {
      // A fault of the storm.
    }
  }

  /** An upload whose connection is reset in the middle. */
  async #resetUpload(): Promise<void> {
    const socket = connect(Number(new URL(this.#one(this.#gateways).url).port), '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(
      'POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n' +
        `content-length: 5000\r\n\r\n{"model":"m","prompt":"${'x'.repeat(this.#below(4000))}`,
    );
    await sleep(this.#below(30));
    socket.resetAndDestroy();
  }

  /** A gateway that resets its stream, or loses its connection, after a pick. */
  async #resetStream(n: number): Promise<void> {
    const cut =
      this.#below(2) === 0 ? await startCuttableProxy(this.#picker.extProcPort) : undefined;
    const client = processorClient(cut?.port ?? this.#picker.extProcPort);
    const stream = client.Process();
    stream.on('error', () => undefined);
    stream.on('data', () => undefined);
    stream.write(requestHeaders({ ':method': 'POST', ':path': '/v1/completions' }));
    stream.write(requestBody(body(n)));
    await sleep(this.#below(30));
    // Closing the client would leave its stream open.
    if (cut === undefined) stream.cancel();
    await cut?.stop();
    client.close();
  }

  /** Changes servers, files and gateways until the last request. */
  async #changes(): Promise<void> {
    for (let count = 1; !this.#over; count++) {
      await sleep(2 * CHANGE_MS * this.#random.next());
      const chance = this.#random.next();
      if (count % CHANGES_PER_KILL === 0) await this.#killGateway();
      else if (chance < 0.7) await this.#changeServer();
      else if (chance < 0.85) this.#changeEndpoints();
      else this.#changeConfig();
    }
  }

  async #changeServer(): Promise<void> {
    const address = this.#one(this.#servers.endpoints).address;
    await endFaults(address);
    if (this.#below(2) === 0) return;
    const fault = this.#one(SERVER_FAULTS);
    this.#count(`server: ${fault.kind}`);
    const init = { method: 'POST', body: JSON.stringify(fault) };
    await fetch(`http://${address}/stub/faults`, init);
  }

  #changeEndpoints(): void {
    this.#count('operator: endpoints change');
    writeEndpoints(this.#folder, this.#servers, () => this.#random.next() < 0.7);
  }

  #changeConfig(): void {
    const config = this.#one(CONFIGS);
    this.#count(`operator: configuration ${CONFIGS.indexOf(config)}`);
    writeConfig(this.#folder, config);
  }

  async #killGateway(): Promise<void> {
    this.#count('gateway: is killed');
    const at = this.#below(this.#gateways.length);
    const killed = this.#gateways[at];
    if (killed !== undefined) process.kill(killed.pid, 'SIGKILL');
    await killed?.stop();
    this.#gateways[at] = await startGateway({ pickers: [this.#picker.extProcPort] });
  }

  async #recover(): Promise<void> {
    await Promise.all(this.#servers.endpoints.map(({ address }) => endFaults(address)));
    writeConfig(this.#folder, CONFIGS[0] ?? '');
    writeEndpoints(this.#folder, this.#servers, () => true);
  }

  /** What is left of load, once nothing changes any more. */
  async #settled(): Promise<readonly string[]> {
    const until = performance.now() + SETTLED_MS;
    let left = await this.#left();
    while (left.length > 0 && performance.now() < until) {
      await sleep(250);
      left = await this.#left();
    }
    return left;
  }

  async #left(): Promise<readonly string[]> {
    const { sessions, endpoints } = JSON.parse(await this.#picker.get('/debug/endpoints')) as {
      readonly sessions: number;
      readonly endpoints: readonly { id: string; inFlight: Readonly<Record<string, number>> }[];
    };
    const missing = endpoints.length === SERVERS ? [] : [`${endpoints.length} endpoints`];
    const waiting = JSON.parse(await this.#picker.get('/debug/waiting')) as { requests: number };
    return [
      ...missing,
      ...(sessions === 0 ? [] : [`${sessions} streams`]),
      ...(waiting.requests === 0 ? [] : [`${waiting.requests} wait`]),
      ...endpoints.flatMap(({ id, inFlight }) =>
        Object.entries(inFlight).flatMap(([what, amount]) =>
          amount === 0 ? [] : [`${id} ${what} ${amount}`],
        ),
      ),
    ];
  }

  async #statusOfOne(): Promise<number> {
    const { statusCode, body: answer } = await request(`${this.#gateways[0]?.url}/v1/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: body(0),
    });
    await answer.dump();
    return statusCode;
  }
}

const CLIENT_FAULTS = [
  'leaves',
  'is malformed',
  'is no JSON',
  'claims much',
  'has long headers',
  'resets an upload',
  'is a gateway that resets its stream',
] as const;

function body(n: number, tokens = 3): string {
  return JSON.stringify({
    model: 'm',
    prompt: `family ${n % 7} `.repeat(1 + (n % 50)),
    max_tokens: tokens,
    stream: n % 3 !== 0,
  });
}

async function endFaults(address: string): Promise<void> {
  await fetch(`http://${address}/stub/faults`, { method: 'DELETE' });
}

function writeEndpoints(folder: string, servers: StubPool, isThere: () => boolean): void {
  const lines = servers.endpoints.flatMap(({ address }, at) => {
    const [host, port] = address.split(':');
    return isThere() ? [`  - { name: s${at}, address: ${host}, port: ${port} }`] : [];
  });
  writeWhole(join(folder, 'endpoints.yaml'), `endpoints:\n${lines.join('\n')}\n`);
}

const writeConfig = (folder: string, text: string): void =>
  writeWhole(join(folder, 'config.yaml'), text);

/** Readers see the file before or after, never a part of it. */
function writeWhole(path: string, text: string): void {
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}
