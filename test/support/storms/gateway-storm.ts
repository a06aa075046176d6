import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import type { Random } from '../../../src/framework/runtime.ts';
import { seededRandom } from '../../../src/runtime/seeded-random.ts';
import type { Fault } from '../../../stub-server/faults/fault.ts';
import type { StubPool } from '../../../stub-server/pool.ts';
import { type DrillPicker, startGateway, startPicker, startServers } from '../../drills/support.ts';
import { drawnBelow, drawnFrom } from '../drawn.ts';
import { loadLeft } from './load-left.ts';
import { StormClients, stormBody } from './storm-clients.ts';
import { CONFIGS, writeConfig, writeEndpoints } from './storm-files.ts';

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
  readonly #clients: StormClients;
  readonly #faults = new Map<string, number>();
  #sent = 0;
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
    this.#clients = new StormClients({
      random: this.#random,
      gateways: () => this.#gateways,
      extProcPort: parts.picker.extProcPort,
      onFault: (fault) => this.#count(fault),
    });
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
      answered: this.#clients.answered,
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
    await this.#clients.close();
    await this.#servers.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #count(fault: string): void {
    this.#faults.set(fault, (this.#faults.get(fault) ?? 0) + 1);
  }

  async #client(requests: number): Promise<void> {
    while (this.#sent < requests) {
      this.#sent += 1;
      await this.#clients.send(this.#sent);
    }
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
    const address = drawnFrom(this.#random, this.#servers.endpoints).address;
    await endFaults(address);
    if (drawnBelow(this.#random, 2) === 0) return;
    const fault = drawnFrom(this.#random, SERVER_FAULTS);
    this.#count(`server: ${fault.kind}`);
    const init = { method: 'POST', body: JSON.stringify(fault) };
    await fetch(`http://${address}/stub/faults`, init);
  }

  #changeEndpoints(): void {
    this.#count('operator: endpoints change');
    writeEndpoints(this.#folder, this.#servers, () => this.#random.next() < 0.7);
  }

  #changeConfig(): void {
    const config = drawnFrom(this.#random, CONFIGS);
    this.#count(`operator: configuration ${CONFIGS.indexOf(config)}`);
    writeConfig(this.#folder, config);
  }

  async #killGateway(): Promise<void> {
    this.#count('gateway: is killed');
    const at = drawnBelow(this.#random, this.#gateways.length);
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
      ...endpoints.flatMap(({ id, inFlight }) => loadLeft(id, inFlight)),
    ];
  }

  async #statusOfOne(): Promise<number> {
    const { statusCode, body: answer } = await request(`${this.#gateways[0]?.url}/v1/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: stormBody(0),
    });
    await answer.dump();
    return statusCode;
  }
}

async function endFaults(address: string): Promise<void> {
  await fetch(`http://${address}/stub/faults`, { method: 'DELETE' });
}
