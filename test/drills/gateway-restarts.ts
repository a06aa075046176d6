import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type StartedProgram, startProgram } from '../support/programs/started-program.ts';
import { type DrillReport, drill, PER_SECOND, sleep, startLoad } from './support.ts';

const REQUESTS = Number(process.env['DRILL_REQUESTS'] ?? 20_000);
/** How long each process that was restarted serves before the next one is. */
const REST_MS = 2000;
/** The load goes on for so long after the last restart has begun, at least. */
const LAST_MS = 15_000;
const FALLBACKS = `
apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
  - type: predicted-cost-scorer
  - type: max-score-picker
    parameters: { maxNumOfEndpoints: 3 }
schedulingProfiles:
  - name: default
    plugins:
      - { pluginRef: predicted-cost-scorer }
      - { pluginRef: max-score-picker }
`;

type Program = StartedProgram<Readonly<Record<string, unknown>>>;

/** A process with a port of its own, which can be ended and started again. */
class Restarted {
  readonly what: string;
  readonly #args: (port: string) => readonly string[];
  readonly #portOf: (program: Program) => number;
  #program: Program | undefined;
  port = 0;

  constructor(
    what: string,
    args: (port: string) => readonly string[],
    portOf: (program: Program) => number,
  ) {
    this.what = what;
    this.#args = args;
    this.#portOf = portOf;
    process.once('exit', () => this.#program?.child.kill('SIGKILL'));
  }

  async start(): Promise<void> {
    this.#program = await startProgram(this.#args(String(this.port)));
    this.port = this.#portOf(this.#program);
  }

  async restart(): Promise<void> {
    await this.#program?.end('SIGTERM');
    await this.start();
  }
}

/** One address for two pickers, as a Service is: a connection goes to one that accepts it. */
async function startService(ports: readonly number[]): Promise<number> {
  let turn = 0;
  const server = createServer((client) => {
    const ask = (tries: number): void => {
      if (tries === 0) return void client.destroy();
      const target = connect(ports[turn++ % ports.length] ?? 0, '127.0.0.1');
      target.once('error', () => ask(tries - 1));
      target.once('connect', () => {
        target.removeAllListeners('error');
        passOn(client, target);
        passOn(target, client);
      });
    };
    client.on('error', () => undefined);
    ask(ports.length);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

function passOn(from: Socket, to: Socket): void {
  from.on('error', () => to.destroy()).on('close', () => to.destroy());
  from.pipe(to);
}

/** Three model servers, two pickers behind one address, and two gateways, in this order. */
async function startAll(config: string): Promise<{
  readonly pickers: readonly Restarted[];
  readonly servers: readonly Restarted[];
  readonly gateways: readonly Restarted[];
}> {
  const servers = await started(3, () => {
    const flags = ['stub', '--count', '1', '--speed', '10', '--model', 'm'];
    const portOf = ({ document }: Program): number =>
      Number(/:(\d+)/.exec(JSON.stringify(document))?.[1]);
    return new Restarted('a model server', (port) => [...flags, '--port', port], portOf);
  });
  const endpoints = servers.map(({ port }) => `127.0.0.1:${port}`).join(',');
  const pickers = await started(2, () => {
    const own = ['serve', '--insecure', '--host', '127.0.0.1', '--metrics-port', '0'];
    const flags = [...own, '--endpoints', endpoints, '--config', config];
    return new Restarted(
      'a picker',
      (port) => [...flags, '--extproc-port', port],
      ({ document }) => Number(document['extProcPort']),
    );
  });
  const service = await startService(pickers.map(({ port }) => port));
  const gateways = await started(2, () => {
    const flags = ['gateway', '--insecure', '--picker', `127.0.0.1:${service}`];
    return new Restarted(
      'a gateway',
      (port) => [...flags, '--port', port],
      ({ document }) => Number(document['port']),
    );
  });
  return { pickers, servers, gateways };
}

async function started(count: number, create: () => Restarted): Promise<readonly Restarted[]> {
  const all = Array.from({ length: count }, create);
  for (const one of all) await one.start();
  return all;
}

/** Clients ask the other gateway only where a connection is refused. */
async function restartAll(report: DrillReport, config: string): Promise<void> {
  const { pickers, servers, gateways } = await startAll(config);
  const [url = '', ...otherUrls] = gateways.map(({ port }) => `http://127.0.0.1:${port}`);
  const load = startLoad({ url, otherUrls, perSecond: PER_SECOND, requestsMax: REQUESTS });
  const endAt = performance.now() + (1000 * REQUESTS) / PER_SECOND;
  const all = [...pickers, ...servers, ...gateways];
  const counts = new Map<string, number>();
  for (let turn = 0; performance.now() < endAt - LAST_MS; turn++) {
    const one = all[turn % all.length];
    if (one === undefined) break;
    await sleep(REST_MS);
    await one.restart();
    counts.set(one.what, (counts.get(one.what) ?? 0) + 1);
  }
  await sleep(Math.max(0, endAt - performance.now()) + 1000);
  await load.stop();
  const restarts = [...counts].map(([what, count]) => `${count} of ${what}`).join(', ');
  report.noneFailed(load.sent, ` during restarts: ${restarts}`);
}

await drill('a rolling restart of all behind two embedded gateways', async (report) => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-restarts-'));
  const config = join(folder, 'fallbacks.yaml');
  writeFileSync(config, FALLBACKS);
  await restartAll(report, config);
  rmSync(folder, { recursive: true });
});
