import type { RemoteKv, Submission } from '../../../stub-server/engine/sequence.ts';
import { KvFabric } from '../../../stub-server/pd/kv-fabric.ts';
import { PluginFailure, type PluginFault, RoutingError } from '../../framework/error.ts';
import { PREFILL_HEADER, type RoutedRequest } from '../../framework/routing.ts';
import type { Clock, Millis, Random } from '../../framework/runtime.ts';
import type { EmbeddedPicker } from '../../library/create-picker.ts';
import { chainBlockIds } from '../../openai/prompts/chain-block-ids.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import type { RequestResult, SimulationResult } from '../run-summary/run-result.ts';
import { Arrivals } from '../traces/arrivals.ts';
import type { TraceRequest } from '../traces/trace.ts';
import type { Workload } from '../traces/workload.ts';
import { openPickers, type PickersOptions } from './open-pickers.ts';
import type { PoolSpec, ServerSpec } from './pool-spec.ts';
import { type ModelServer, type ServerParts, SimulatedServer } from './simulated-server.ts';

export interface SimulationOptions extends PickersOptions {
  readonly workload: Workload;
  readonly pool: PoolSpec;
  readonly scrapeIntervalMs?: Millis;
  /** Makes the servers, where their engines are others than the stub's. */
  readonly createServer?: ((spec: ServerSpec, parts: ServerParts) => ModelServer) | undefined;
}

/** A routed request on its way to the server that decodes it. */
interface DecodeLeg {
  readonly routed: RoutedRequest;
  /** The server that holds its KV, if it was prefilled elsewhere. */
  readonly from?: { readonly prefiller: ModelServer; readonly release: () => void };
}

/** Latency one way, on each hop between client, picker and server. */
const NETWORK_MS = 0.25;
/** How often a request that is refused or lost before its first token is sent again. */
const RETRIES_MAX = 5;
/** The delay before a retry, because clients and gateways back off a little. */
const RETRY_AFTER_MS = 25;

/**
 * Runs a workload through the real decision core and simulated model servers under a virtual clock.
 * The same options give the same result, byte for byte.
 */
export function simulate(options: SimulationOptions): SimulationResult {
  return new Simulation(options).run();
}

class Simulation {
  readonly #options: SimulationOptions;
  readonly #clock = new SimulatedClock();
  readonly #pickers: readonly EmbeddedPicker[];
  readonly #gateway: Random;
  readonly #servers: readonly ModelServer[];
  readonly #indexOf: ReadonlyMap<string, number>;
  readonly #results: RequestResult[] = [];
  readonly #fabric = new KvFabric(this.#clock);
  readonly #arrivals: Arrivals;
  #open = 0;
  #fault: PluginFault | undefined;

  constructor(options: SimulationOptions) {
    const { pool, workload, seed } = options;
    const clock: Clock = this.#clock;
    const random = seededRandom(seed);
    this.#options = options;
    const onFault = (fault: PluginFault): void => {
      this.#fault ??= fault;
    };
    this.#pickers = openPickers({ ...options, clock, onFault });
    this.#gateway = random.fork('gateway');
    const { blockTokens } = workload;
    const { createServer = (spec, parts) => new SimulatedServer(spec, parts) } = options;
    this.#servers = pool.servers.map((spec) =>
      createServer(spec, { clock, random: random.fork(spec.id), blockTokens }),
    );
    this.#arrivals = new Arrivals(workload, { clock, arrive: (each) => this.#arrive(each) });
    this.#indexOf = new Map(pool.servers.map(({ id }, index) => [id, index]));
  }

  run(): SimulationResult {
    this.#openPool();
    this.#scheduleFaults();
    this.#arrivals.start();
    while (this.#open > 0 || this.#arrivals.left > 0) {
      if (!this.#clock.step()) break;
      // The result would not be that of the configuration.
      if (this.#fault !== undefined) throw new PluginFailure(this.#fault);
    }
    for (const picker of this.#pickers) picker.stop();
    return {
      requests: this.#results,
      durationMs: this.#clock.now(),
      preemptions: this.#servers.reduce((sum, { stats }) => sum + stats.preemptions, 0),
    };
  }

  #openPool(): void {
    const { blockTokens } = this.#options.workload;
    const { scrapeIntervalMs = 50 } = this.#options;
    this.#pickers.forEach((picker, replica) => {
      const ahead = replica / this.#pickers.length;
      this.#servers.forEach((server, index) => {
        const { id, labels, kvTokens } = server.spec;
        const cache = { blockTokens, blocks: Math.floor(kvTokens / blockTokens) };
        picker.addEndpoint({ id, labels, cache });
        const scrape = (): void => {
          this.#scrape(picker, server);
          this.#clock.setTimer(scrapeIntervalMs, scrape);
        };
        this.#scrape(picker, server);
        // Scrapes are spread over the interval, as in the real scraper.
        const place = (index + 1 - ahead) / this.#servers.length;
        this.#clock.setTimer(scrapeIntervalMs * place, scrape);
      });
    });
  }

  #scrape(picker: EmbeddedPicker, server: ModelServer): void {
    const sampledAt = this.#clock.now();
    const sample = server.sample();
    if (sample === undefined) return;
    this.#later(() => picker.setMetrics(server.spec.id, { ...sample, sampledAt }));
  }

  /** The picker that decides the next request. */
  #nextPicker(): EmbeddedPicker {
    const { length } = this.#pickers;
    const place = length === 1 ? 0 : Math.floor(length * this.#gateway.next());
    return this.#pickers[place] as EmbeddedPicker;
  }

  #scheduleFaults(): void {
    for (const fault of this.#options.pool.faults) {
      const server = this.#servers[this.#indexOf.get(fault.server) ?? -1];
      if (server === undefined) {
        throw new Error(`a fault names ${fault.server}, which is not in the pool`);
      }
      this.#clock.setTimer(fault.atMs, () => {
        if (fault.kind === 'crash') server.crash();
        else server.slowdown = fault.factor ?? 1;
      });
      this.#clock.setTimer(fault.atMs + fault.forMs, () => {
        if (fault.kind === 'crash') server.restart();
        else server.slowdown = 1;
      });
    }
  }

  #arrive(request: TraceRequest): void {
    const result: RequestResult = {
      request,
      server: -1,
      attempts: 0,
      ttftMs: Number.NaN,
      e2eMs: Number.NaN,
      cachedTokens: 0,
      completed: false,
    };
    this.#results.push(result);
    this.#open += 1;
    this.#attempt(result, hashesOf(request, this.#options.workload.blockTokens));
  }

  #attempt(result: RequestResult, blockHashes: Float64Array): void {
    const { request } = result;
    const { blockTokens } = this.#options.workload;
    const { model, promptTokens, blockIds, priority, fairnessId } = request;
    result.attempts += 1;
    const placed = (routed: RoutedRequest): void => this.#send(result, blockHashes, routed);
    const refused = (error: unknown): void => {
      // It has waited for as long as it may.
      if (error instanceof RoutingError && error.code === 'queue-timeout') this.#end(result);
      else this.#retry(result, blockHashes);
    };
    let routed: RoutedRequest | undefined;
    try {
      const counted = {
        model,
        promptTokens,
        blockIds,
        blockTokens,
        ...(priority !== undefined && { priority }),
        ...(fairnessId !== undefined && { fairnessId }),
      };
      routed = this.#nextPicker().enqueueWith(counted, { placed, refused });
    } catch (error) {
      refused(error);
    }
    if (routed !== undefined) placed(routed);
  }

  #send(result: RequestResult, blockHashes: Float64Array, routed: RoutedRequest): void {
    result.server = this.#indexOf.get(routed.endpoint.id) ?? -1;
    const prefiller =
      this.#servers[this.#indexOf.get(routed.headers.get(PREFILL_HEADER) ?? '') ?? -1];
    this.#later(() => {
      if (prefiller === undefined) this.#decode(result, blockHashes, { routed });
      else this.#prefill(result, blockHashes, { routed, prefiller });
    });
  }

  /**
   * Prefills on another server first, as the sidecar beside the decoding server does. If that
   * fails, the decoding server computes the whole prompt.
   */
  #prefill(
    result: RequestResult,
    blockHashes: Float64Array,
    { routed, prefiller }: { readonly routed: RoutedRequest; readonly prefiller: ModelServer },
  ): void {
    const { promptTokens } = result.request;
    const held: { submission?: Submission | undefined } = {};
    held.submission = prefiller.submit({
      promptTokens,
      outputTokens: 1,
      blockHashes,
      holdBlocks: true,
      onDone: (reason) => {
        const leg = { routed, from: { prefiller, release: () => held.submission?.release() } };
        this.#later(() => this.#decode(result, blockHashes, reason === 'error' ? { routed } : leg));
      },
    });
  }

  #decode(result: RequestResult, blockHashes: Float64Array, { routed, from }: DecodeLeg): void {
    const { request } = result;
    const server = this.#servers[result.server] as ModelServer;
    const remote: RemoteKv | undefined = from && {
      tokens: request.promptTokens,
      start: (tokens, ready) =>
        this.#fabric.send({ tokens, from: from.prefiller.port, to: server.port }, () => {
          from.release();
          ready();
        }),
    };
    server.submit({
      promptTokens: request.promptTokens,
      outputTokens: request.outputTokens,
      blockHashes,
      remote,
      ...(server.spec.loras && request.model !== '' && { lora: request.model }),
      onFirstToken: () =>
        this.#later(() => {
          result.ttftMs = this.#clock.now() - request.atMs;
          routed.firstToken();
        }),
      onDone: (reason, usage) =>
        this.#later(() => {
          const failed = reason === 'error';
          // Also if nothing had to be sent, or the transfer was cut off.
          from?.release();
          routed.done(failed ? 'failed' : 'completed', failed ? undefined : usage);
          if (failed && Number.isNaN(result.ttftMs)) {
            this.#retry(result, blockHashes);
            return;
          }
          result.completed = !failed;
          result.cachedTokens = usage.cachedTokens;
          this.#end(result);
        }),
    });
  }

  #retry(result: RequestResult, blockHashes: Float64Array): void {
    if (result.attempts > RETRIES_MAX) this.#end(result);
    else this.#clock.setTimer(RETRY_AFTER_MS, () => this.#attempt(result, blockHashes));
  }

  #end(result: RequestResult): void {
    result.e2eMs = this.#clock.now() - result.request.atMs;
    this.#open -= 1;
    this.#arrivals.over(result.request);
  }

  #later(callback: () => void): void {
    this.#clock.setTimer(NETWORK_MS, callback);
  }
}

/** The engine's hashes: 53 bits of each chained hash. */
function hashesOf({ blockIds, model }: TraceRequest, blockTokens: number): Float64Array {
  const { words, count } = chainBlockIds(blockIds, { seedText: model, blockTokens });
  const hashes = new Float64Array(count);
  for (let index = 0; index < count; index++) {
    const high = (words[2 * index + 1] as number) >>> 11;
    hashes[index] = high * 0x1_0000_0000 + ((words[2 * index] as number) >>> 0);
  }
  return hashes;
}
