import { KvExchange } from '../../../stub-server/pd/kv-exchange.ts';
import { KvFabric } from '../../../stub-server/pd/kv-fabric.ts';
import { ConfigError, PluginFailure, type PluginFault } from '../../framework/error.ts';
import type { ReplacementReport } from '../../framework/replacement.ts';
import type { Clock, Millis, Network, Random } from '../../framework/runtime.ts';
import type { EmbeddedPicker } from '../../library/create-picker.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import type { ResultTable } from '../run-summary/result-table.ts';
import type {
  SchedulerShare,
  SimulationResult,
  WholeSimulation,
} from '../run-summary/run-result.ts';
import { Arrivals } from '../traces/arrivals.ts';
import type { TraceRequest } from '../traces/trace.ts';
import type { WorkloadContent } from '../traces/workload.ts';
import type { AskedSchedulers } from './asked-schedulers.ts';
import { openPickers, type PickersOptions } from './open-pickers.ts';
import type { PoolSpec, ServerSpec } from './pool-spec.ts';
import { type ResultKeeper, WholeResults } from './result-keeper.ts';
import { byEndpoint, type SimulatedEndpoint, simulatedEndpoints } from './simulated-endpoints.ts';
import { type PlacedServer, type RequestParts, SimulatedRequest } from './simulated-request.ts';
import { type ModelServer, type ServerParts, SimulatedServer } from './simulated-server.ts';

export interface SimulationOptions extends PickersOptions {
  readonly workload: WorkloadContent;
  readonly pool: PoolSpec;
  readonly scrapeIntervalMs?: Millis;
  /** Makes the servers, where their engines are others than the stub's. */
  readonly createServer?: ((spec: ServerSpec, parts: ServerParts) => ModelServer) | undefined;
  /** Called when a request has ended, with how many have. Must not throw. */
  readonly onEnded?: ((ended: number) => void) | undefined;
}

/** A simulation whose results go into a table, without what the trace says of the requests. */
interface TableOptions extends SimulationOptions {
  readonly results: ResultTable;
}

interface AskingOptions extends SimulationOptions {
  readonly asked: AskedSchedulers;
}

type SimulatedFigures = Omit<SimulationResult, 'requests'>;

/** Latency one way, on each hop between client, picker and server. */
const NETWORK_MS = 0.25;
/** After a pause servers are scraped for so long before a request comes: twice until one is unknown. */
const SCRAPED_BEFORE_MS = 4000;

/**
 * Runs a workload through the real decision core and simulated model servers under a virtual clock.
 * The same options give the same result, byte for byte.
 */
export function simulate(options: SimulationOptions): WholeSimulation {
  const results = new WholeResults();
  return { ...new Simulation(options, results).run(), requests: results.all };
}

/** See `simulate`. */
export function simulateIntoTable(options: TableOptions): SimulationResult {
  const { results } = options;
  return { ...new Simulation(options, results).run(), requests: results };
}

/**
 * See `simulate`, for a configuration whose scheduler is in another process. Rejects with
 * ConfigError where that cannot be reached, or ends or stops before the simulation does.
 */
export async function simulateAsking(options: AskingOptions): Promise<WholeSimulation> {
  const { asked } = options;
  const results = new WholeResults();
  const simulation = new Simulation(options, results, asked.network);
  return { ...(await simulation.runAsking(asked)), requests: results.all };
}

class Simulation {
  readonly #options: SimulationOptions;
  readonly #clock = new SimulatedClock();
  readonly #pickers: readonly EmbeddedPicker[];
  readonly #gateway: Random;
  readonly #servers: ReadonlyMap<string, PlacedServer>;
  readonly #results: ResultKeeper;
  readonly #arrivals: Arrivals;
  readonly #exchange = new KvExchange(this.#clock, new KvFabric(this.#clock));
  readonly #parts: RequestParts;
  #arrived = 0;
  #open = 0;
  #fault: PluginFault | undefined;

  constructor(options: SimulationOptions, results: ResultKeeper, schedulerNetwork?: Network) {
    const { pool, workload, seed } = options;
    const clock: Clock = this.#clock;
    const random = seededRandom(seed);
    this.#options = options;
    this.#results = results;
    const onFault = (fault: PluginFault): void => {
      this.#fault ??= fault;
    };
    this.#pickers = openPickers({ ...options, clock, onFault, schedulerNetwork });
    this.#gateway = random.fork('gateway');
    const { blockTokens } = workload;
    for (const spec of pool.servers) mustHoldOneBlock(spec, blockTokens);
    const { createServer = (spec, parts) => new SimulatedServer(spec, parts) } = options;
    this.#servers = new Map(
      pool.servers.map((spec, place) => {
        const parts = { clock, random: random.fork(spec.id), blockTokens };
        return [spec.id, { place, server: createServer(spec, parts) }];
      }),
    );
    this.#arrivals = new Arrivals(workload, { clock, arrive: (each) => this.#arrive(each) });
    this.#parts = {
      clock,
      servers: byEndpoint(this.#servers),
      exchange: this.#exchange,
      blockTokens,
      nextPicker: () => this.#nextPicker(),
      afterOneHop: (callback) => this.#afterOneHop(callback),
      onEnd: ({ number, result }) => {
        this.#open -= 1;
        this.#results.keep(number, result);
        options.onEnded?.(this.#arrived - this.#open);
        this.#arrivals.over(result.request);
      },
    };
  }

  run(): SimulatedFigures {
    this.#start();
    while (this.#step()) continue;
    const result = this.#result();
    this.#stop();
    return result;
  }

  /** Time stands still while a scheduler in another process has not answered. */
  async runAsking(asked: AskedSchedulers): Promise<SimulatedFigures> {
    try {
      await asked.connected(this.#pickers);
      this.#start();
      while (this.#step()) if (asked.mustBeWaitedFor) await asked.answered(this.#pickers);
      return this.#result();
    } finally {
      this.#stop();
    }
  }

  #stop(): void {
    for (const picker of this.#pickers) picker.stop();
  }

  #start(): void {
    this.#openPool();
    this.#scheduleFaults();
    this.#arrivals.start();
  }

  /** False at the end. */
  #step(): boolean {
    // The result would not be that of the configuration.
    if (this.#fault !== undefined) throw new PluginFailure(this.#fault);
    return (this.#open > 0 || this.#arrivals.left > 0) && this.#clock.step();
  }

  #result(): SimulatedFigures {
    const replacements = this.#pickers.flatMap((picker) => picker.scheduler() ?? []);
    const servers = [...this.#servers.values()];
    return {
      durationMs: this.#clock.now(),
      preemptions: servers.reduce((sum, { server }) => sum + server.stats.preemptions, 0),
      ...(replacements.length > 0 && { scheduler: schedulerShare(replacements) }),
    };
  }

  #openPool(): void {
    const { blockTokens } = this.#options.workload;
    const { scrapeIntervalMs = 50 } = this.#options;
    this.#pickers.forEach((picker, replica) => {
      const ahead = replica / this.#pickers.length;
      for (const { server, place } of this.#servers.values()) {
        const cache = { blockTokens, blocks: Math.floor(server.spec.kvTokens / blockTokens) };
        const endpoints = simulatedEndpoints(server.spec);
        for (const { id, address, labels, engines } of endpoints) {
          picker.addEndpoint({ id, address, labels, cache, ...(engines && { engines }) });
        }
        const scrape = (): void => {
          this.#scrape(picker, server, endpoints);
          this.#clock.setTimer(this.#nextScrapeIn(scrapeIntervalMs), scrape);
        };
        this.#scrape(picker, server, endpoints);
        // Scrapes are spread over the interval, as in the real scraper.
        const share = (place + 1 - ahead) / this.#servers.size;
        this.#clock.setTimer(scrapeIntervalMs * share, scrape);
      }
    });
  }

  /** Servers without work say the same at each scrape, so that the middle of a pause is skipped. */
  #nextScrapeIn(intervalMs: Millis): Millis {
    const nextAtMs = this.#open > 0 ? undefined : this.#arrivals.nextAtMs;
    const pauseMs = (nextAtMs ?? 0) - this.#clock.now() - SCRAPED_BEFORE_MS;
    return intervalMs * Math.max(1, Math.floor(pauseMs / intervalMs));
  }

  #scrape(
    picker: EmbeddedPicker,
    server: ModelServer,
    endpoints: readonly SimulatedEndpoint[],
  ): void {
    const sampledAt = this.#clock.now();
    for (const { id, rank } of endpoints) {
      const sample = server.sample(rank);
      if (sample === undefined) continue;
      this.#afterOneHop(() => picker.setMetrics(id, { ...sample, sampledAt }));
    }
  }

  /** The picker that decides the next request. */
  #nextPicker(): EmbeddedPicker {
    const { length } = this.#pickers;
    const place = length === 1 ? 0 : Math.floor(length * this.#gateway.next());
    return this.#pickers[place] as EmbeddedPicker;
  }

  #scheduleFaults(): void {
    for (const fault of this.#options.pool.faults) {
      const server = this.#servers.get(fault.server)?.server;
      if (server === undefined) {
        throw new Error(`a fault names ${fault.server}, which is not in the pool`);
      }
      this.#clock.setTimer(fault.atMs, () => {
        if (fault.kind === 'crash') this.#crash(server);
        else server.slowdown = fault.factor ?? 1;
      });
      this.#clock.setTimer(fault.atMs + fault.forMs, () => {
        if (fault.kind === 'crash') server.restart();
        else server.slowdown = 1;
      });
    }
  }

  #crash(server: ModelServer): void {
    server.crash();
    this.#exchange.forget(server.port);
  }

  #arrive(request: TraceRequest): void {
    this.#open += 1;
    const arrived = new SimulatedRequest(request, this.#arrived++, this.#parts);
    this.#results.keep(arrived.number, arrived.result);
    arrived.attempt();
  }

  #afterOneHop(callback: () => void): void {
    this.#clock.setTimer(NETWORK_MS, callback);
  }
}

/** What it decided, and what it left to the profiles, by reason. */
function schedulerShare(reports: readonly ReplacementReport[]): SchedulerShare {
  const declined: Record<string, number> = {};
  for (const [reason, count] of reports.flatMap((each) => [...each.declined])) {
    declined[reason] = (declined[reason] ?? 0) + count;
  }
  return { decided: reports.reduce((sum, { decided }) => sum + decided, 0), declined };
}

function mustHoldOneBlock({ id, kvTokens }: ServerSpec, blockTokens: number): void {
  if (kvTokens >= blockTokens) return;
  const message = `${kvTokens} tokens are less than the ${blockTokens} of a block of the trace; give the server more memory`;
  throw new ConfigError('pool', [{ path: `${id}.kvTokens`, message }]);
}
