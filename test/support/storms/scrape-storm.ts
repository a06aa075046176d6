import { metricsSource } from '../../../src/endpoints/scraping/metrics-source.ts';
import { scrapeErrorsOf } from '../../../src/endpoints/scraping/scrape-errors.ts';
import { RANK_LABEL } from '../../../src/framework/data-parallel-rank.ts';
import type { Endpoint, EndpointId } from '../../../src/framework/endpoint.ts';
import type { DataSource } from '../../../src/framework/plugin.ts';
import type { HttpGetOptions, HttpResponse, Random } from '../../../src/framework/runtime.ts';
import { EndpointPool } from '../../../src/picker/pool/endpoint-pool.ts';
import { seededRandom } from '../../../src/runtime/seeded-random.ts';
import { makeRouted } from '../../makers.ts';
import { drawnBelow } from '../drawn.ts';
import { vllmPage } from '../servers/fake-servers.ts';
import { UnsteadyClock } from '../unsteady-clock.ts';

export interface ScrapeStormOptions {
  readonly steps: number;
  readonly pace: UnsteadyClock['pace'];
  readonly parameters: Readonly<Record<string, unknown>>;
}

export interface ScrapeStorm {
  readonly scrapes: number;
  /** What must not be: one sentence each. */
  readonly faults: readonly string[];
}

const SERVERS = 12;
/** Above any interval of the storm's configurations, with what is added after failures. */
const SCRAPED_WITHIN_MS = 2500;

/**
 * Scrapes servers that come, go, fail, are slow or have broken pages, in time that passes
 * unsteadily. Endpoints are also removed in the calls that tell of their samples.
 */
export function scrapeStorm(seed: number, options: ScrapeStormOptions): Promise<ScrapeStorm> {
  return new RunningStorm(seed, options).run();
}

class RunningStorm {
  readonly #options: ScrapeStormOptions;
  readonly #random: Random;
  readonly #clock: UnsteadyClock;
  readonly #pool = new EndpointPool();
  readonly #source: DataSource;
  /** Scrapes under way, by address. */
  readonly #open = new Map<string, { count: number }>();
  readonly #faults: string[] = [];
  #scrapes = 0;
  #isCalm = false;
  #isInterfering = false;
  /** The endpoints of requests in flight. */
  readonly #busy: Endpoint[] = [];

  constructor(seed: number, options: ScrapeStormOptions) {
    this.#options = options;
    this.#random = seededRandom(seed);
    this.#clock = new UnsteadyClock(this.#random.fork('clock'));
    this.#clock.pace = options.pace;
    const get = (url: URL, given: HttpGetOptions): Promise<HttpResponse> => this.#get(url, given);
    const busyShare = (): number => this.#random.next();
    const runtime = { clock: this.#clock, random: seededRandom(seed), network: { get }, busyShare };
    this.#source = metricsSource.start(metricsSource.config.parse(options.parameters), {
      name: 'metrics',
      pool: this.#pool,
      runtime,
    });
    this.#pool.observeEndpoints(this.#source);
    this.#pool.observeEndpoints({
      onEndpointChanged: () => this.#interfere(),
      onEndpointRemoved: ({ address }) => this.#removed(address),
    });
  }

  async run(): Promise<ScrapeStorm> {
    for (let n = 0; n < this.#options.steps; n++) {
      this.#changeSomething();
      await this.#clock.runFor(60 * this.#random.next());
    }
    await this.#settle();
    return { scrapes: this.#scrapes, faults: this.#faults };
  }

  async #settle(): Promise<void> {
    this.#isCalm = true;
    if (this.#clock.pace !== 'still') this.#clock.pace = 'steady';
    for (const endpoint of this.#busy.splice(0)) this.#end(endpoint);
    // Of some servers, nothing is to be said any more.
    for (let at = 0; at < SERVERS; at++) {
      for (const id of idsOf(at)) if (at % 4 === 1) this.#pool.remove(id);
      if (at % 4 !== 1) this.#add(at, {});
    }
    await this.#clock.runFor(5000);
    for (let n = 0; n < 3; n++) {
      await this.#clock.runFor(1000);
      for (const { id, metrics } of this.#pool.snapshot()) {
        const ageMs = this.#clock.now() - metrics.sampledAt;
        if (!(ageMs < SCRAPED_WITHIN_MS)) this.#faults.push(`${id} has a sample of ${ageMs} ms`);
      }
    }
    this.#checkErrors();
    this.#source.stop();
    await this.#clock.runFor(3000);
    const scrapes = this.#scrapes;
    await this.#clock.runFor(3000);
    if (this.#scrapes !== scrapes) this.#faults.push('it scrapes after its end');
    if (this.#clock.pending > 0) this.#faults.push(`${this.#clock.pending} timers are left`);
  }

  /** Nothing is said of endpoints that are gone. */
  #checkErrors(): void {
    const errors = scrapeErrorsOf(this.#pool);
    for (const id of Array.from({ length: SERVERS }, (_, at) => idsOf(at)).flat()) {
      if (errors.stateOf(id) === undefined) continue;
      if (this.#pool.get(id) === undefined) this.#faults.push(`${id} is gone and has a state`);
      else if (errors.of(id) !== undefined) this.#faults.push(`${id} is said to fail`);
    }
  }

  /** A server answers within its time, late, with an error, or with a page that has no series. */
  async #get({ host }: URL, { timeoutMs }: HttpGetOptions): Promise<HttpResponse> {
    this.#scrapes += 1;
    const open = this.#open.get(host) ?? { count: 0 };
    this.#open.set(host, open);
    open.count += 1;
    if (open.count > 1) this.#faults.push(`${host} is scraped twice at a time`);
    const fate = this.#isCalm ? 1 : this.#random.next();
    const waits = fate < 0.1 ? timeoutMs : (fate < 0.2 ? 300 : 10) * this.#random.next();
    await new Promise<void>((resolve) => void this.#clock.setTimer(waits, resolve));
    open.count -= 1;
    if (fate < 0.1) throw new Error(`${host} did not answer`);
    const page = fate < 0.25 ? 'nothing 1.0\n' : pageOf(drawnBelow(this.#random, 3));
    return { status: fate >= 0.25 && fate < 0.3 ? 503 : 200, body: Buffer.from(page) };
  }

  #changeSomething(): void {
    if (this.#chance(0.3))
      this.#add(drawnBelow(this.#random, SERVERS), { app: String(drawnBelow(this.#random, 3)) });
    if (this.#chance(0.1)) this.#pool.remove(this.#anyId());
    if (this.#chance(0.3)) this.#begin();
    const ended = this.#chance(0.3) ? this.#busy.shift() : undefined;
    if (ended !== undefined) this.#end(ended);
    if (this.#chance(0.005)) this.#clock.pass(20_000);
  }

  /** In a call that tells of a sample, endpoints go, or requests come and end. */
  #interfere(): void {
    if (this.#isCalm || this.#isInterfering || this.#chance(0.9)) return;
    this.#isInterfering = true;
    if (this.#chance(0.5)) this.#pool.remove(this.#anyId());
    else this.#begin();
    this.#isInterfering = false;
  }

  /** A server that comes again is scraped from the beginning, whatever is still under way. */
  #removed(address: string): void {
    const isLeft = this.#pool.snapshot().some((each) => each.address === address);
    if (!isLeft) this.#open.delete(address);
  }

  #begin(): void {
    const endpoint = this.#pool.get(this.#anyId());
    if (endpoint === undefined) return;
    this.#busy.push(endpoint);
    this.#source.onRouted?.(makeRouted(endpoint, { at: this.#clock.now() }));
  }

  #end(endpoint: Endpoint): void {
    this.#source.onDone?.(makeRouted(endpoint), this.#clock.now(), 'completed', undefined);
  }

  #add(at: number, labels: Readonly<Record<string, string>>): void {
    for (const [rank, id] of idsOf(at).entries()) {
      const ranked = at % 3 === 0 ? { ...labels, [RANK_LABEL]: String(rank) } : labels;
      const address = `10.0.0.${at}:8000`;
      this.#pool.upsert({ id, address, labels: new Map(Object.entries(ranked)) });
    }
  }

  #anyId(): EndpointId {
    const ids = idsOf(drawnBelow(this.#random, SERVERS));
    return ids[drawnBelow(this.#random, ids.length)] as EndpointId;
  }

  #chance(probability: number): boolean {
    return this.#random.next() < probability;
  }
}

/** A third of the servers have two ranks. */
function idsOf(at: number): readonly EndpointId[] {
  const names = at % 3 === 0 ? [`s${at}-0`, `s${at}-1`] : [`s${at}`];
  return names as EndpointId[];
}

/** The load of two ranks. */
function pageOf(running: number): string {
  return vllmPage(running).replaceAll(
    /.*engine="0".*\n/g,
    (line) => line + line.replace('"0"', '"1"'),
  );
}
