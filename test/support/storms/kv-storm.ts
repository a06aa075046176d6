import { TokenChain } from '../../../src/endpoints/kv-events/blocks/token-chain.ts';
import {
  EndpointEvents,
  type EventsShared,
} from '../../../src/endpoints/kv-events/endpoint-events.ts';
import { EventCounts } from '../../../src/endpoints/kv-events/health/event-counts.ts';
import { precisePrefixConfig } from '../../../src/endpoints/kv-events/precise-config.ts';
import { REPLAYS_AT_ONCE, ReplaySlots } from '../../../src/endpoints/kv-events/stream/replay.ts';
import type { Random } from '../../../src/framework/runtime.ts';
import { EndpointPool } from '../../../src/picker/pool/endpoint-pool.ts';
import { PrefixIndex } from '../../../src/picker/prefix-index/prefix-index.ts';
import { seededRandom } from '../../../src/runtime/seeded-random.ts';
import { UnsteadyClock } from '../unsteady-clock.ts';
import { allHashes, KvEngine } from './kv-engine.ts';
import { KvWire, type WireFaults } from './kv-wire.ts';

export interface KvStormOptions {
  readonly steps: number;
  readonly pace: UnsteadyClock['pace'];
  /** Whether missed batches can be had again. */
  readonly replay?: boolean;
  /** The blocks that there is room for; more than all engines have when left out. */
  readonly blocksMax?: number;
  readonly atOnce?: boolean;
}

export interface KvStorm {
  readonly gaps: number;
  readonly repairs: number;
  readonly restarts: number;
  readonly drops: number;
  /** What must not be: one sentence each. */
  readonly faults: readonly string[];
}

const ENGINES = 3;
const BLOCKS_MAX = 1_000_000;
const HASHES = allHashes();
/** Longer than a replay may take, and than none is asked for after one that failed. */
const CALM_STEPS = 180;
const CALM_STEP_MS = 1000;

/** The index of an engine's cache, whose events come as they may. */
interface Read {
  readonly wire: KvWire;
  events: EndpointEvents;
}

/**
 * Reads the KV events of engines that restart at the same address, over connections that break, lose,
 * repeat and delay, in unsteady time. While nothing fails, the index must agree with the engine.
 */
export function kvStorm(seed: number, options: KvStormOptions): KvStorm {
  return new RunningStorm(seed, options).run();
}

class RunningStorm {
  readonly #options: KvStormOptions;
  readonly #random: Random;
  readonly #clock: UnsteadyClock;
  readonly #shared: EventsShared;
  readonly #wireFaults: WireFaults;
  readonly #found = new Set<string>();
  readonly #all: readonly Read[];

  constructor(seed: number, options: KvStormOptions) {
    const { pace, atOnce = false, blocksMax = BLOCKS_MAX } = options;
    this.#options = options;
    this.#random = seededRandom(seed);
    this.#clock = new UnsteadyClock(this.#random.fork('clock'));
    this.#clock.pace = pace;
    this.#wireFaults = { calm: false, atOnce };
    const network = {
      get: () => Promise.reject(new Error('not asked')),
      openMessages: (options: Parameters<KvWire['open']>[0]) =>
        this.#wireAt(options.address).open(options),
    };
    const runtime = { clock: this.#clock, random: this.#random, network };
    this.#shared = {
      config: precisePrefixConfig.parse({}),
      host: { name: 'precise', pool: new EndpointPool(), runtime },
      chain: new TokenChain(0),
      adapters: new Set(),
      room: { left: blocksMax },
      replaySlots: new ReplaySlots(REPLAYS_AT_ONCE),
      total: new EventCounts(),
      recent: new PrefixIndex(),
    };
    const wires = Array.from({ length: ENGINES }, (_, at) => {
      const random = this.#random.fork(`engine ${at}`);
      return new KvWire(new KvEngine(random), this.#clock, random, this.#wireFaults);
    });
    this.#wires = wires;
    this.#all = wires.map((wire) => ({ wire, events: this.#read(wire) }));
  }
  readonly #wires: readonly KvWire[];

  run(): KvStorm {
    for (const wire of this.#wires) wire.connect();
    for (let step = 1; step <= this.#options.steps; step++) {
      this.#step();
      if (step % 400 === 0) this.#calmDown();
    }
    this.#end();
    const { gaps, repairs, restarts, drops } = this.#shared.total.left;
    return { gaps, repairs, restarts, drops, faults: [...this.#found] };
  }

  #wireAt(address: string): KvWire {
    return this.#wires[Number(/engine-(\d)/.exec(address)?.[1])] as KvWire;
  }

  #read(wire: KvWire): EndpointEvents {
    const host = `tcp://engine-${this.#wires.indexOf(wire)}`;
    const replay = this.#options.replay === false ? undefined : `${host}:2`;
    return new EndpointEvents(
      this.#shared,
      { events: `${host}:1`, replay },
      {
        onCacheEmptied: () => undefined,
        onDropped: () => undefined,
        onUnusable: () => undefined,
        onSocketFailed: () => undefined,
      },
    );
  }

  #step(): void {
    const read = this.#all[Math.floor(ENGINES * this.#random.next())];
    if (read === undefined) return;
    const { wire } = read;
    const chance = this.#random.next();
    if (chance < 0.004) wire.break(true);
    else if (chance < 0.012) wire.break(false);
    else if (chance < 0.016) {
      // The endpoint leaves, and comes again.
      read.events.close();
      read.events = this.#read(wire);
    } else if (chance < 0.02) wire.send(wire.engine.publishBroken());
    else if (chance < 0.021) this.#clock.pass(5000 * this.#random.next());
    else wire.send(wire.engine.publish());
    this.#clock.advanceBy(this.#random.next() < 0.9 ? 1 : 100 * this.#random.next());
    this.#checkRoom();
  }

  /** Nothing fails for a while, in which engines go on. Then each index agrees with its engine. */
  #calmDown(): void {
    const { pace } = this.#clock;
    this.#wireFaults.calm = true;
    if (pace !== 'still') this.#clock.pace = 'steady';
    for (let step = 0; step < CALM_STEPS; step++) {
      for (const { wire } of this.#all) {
        wire.connect();
        if (step % 10 === 9) wire.send(wire.engine.publish());
      }
      this.#clock.advanceBy(CALM_STEP_MS);
    }
    for (const read of this.#all) this.#compare(read);
    this.#wireFaults.calm = false;
    this.#clock.pace = pace;
  }

  #compare({ wire: { engine }, events: { view, held } }: Read): void {
    if (held > 0) this.#found.add(`${held} messages are held though nothing fails`);
    if (view.knowledge === 'unknown') this.#found.add('nothing is known of an engine');
    const isWhole = view.knowledge === 'complete' && this.#options.blocksMax === undefined;
    if (isWhole && view.blocks.size !== engine.blocks)
      this.#found.add(`${view.blocks.size} blocks are known of ${engine.blocks}`);
    for (const hash of HASHES) {
      const block = view.blocks.find(hash, 0);
      const { gpu, cpu } = engine.copies(hash);
      const [known, onHost] =
        block < 0 ? [0, 0] : [view.blocks.copies(block, 0), hostCopies(view, block)];
      if (known > gpu || onHost > cpu) this.#found.add(`block ${hash} is known and not there`);
      if (isWhole && known < gpu) this.#found.add(`block ${hash} is there and not known`);
      if (this.#found.size > 5) return;
    }
  }

  #checkRoom(): void {
    const { blocksMax = BLOCKS_MAX } = this.#options;
    let used = 0;
    for (const { events } of this.#all) used += events.view.blocks.size + events.view.blocks.ghosts;
    if (used + this.#shared.room.left !== blocksMax) this.#found.add('room is lost');
  }

  /** Engines that begin anew are known whole, and what ends leaves nothing. */
  #end(): void {
    this.#calmDown();
    this.#wireFaults.calm = true;
    for (const { wire } of this.#all) wire.break(true);
    this.#clock.advanceBy(100);
    this.#calmDown();
    for (const { events } of this.#all) {
      if (events.view.knowledge !== 'complete') this.#found.add('an engine is not known whole');
      events.close();
    }
    this.#checkRoom();
    const { room, replaySlots } = this.#shared;
    if (room.left !== (this.#options.blocksMax ?? BLOCKS_MAX))
      this.#found.add('room is left taken');
    const free = Array.from({ length: REPLAYS_AT_ONCE }, () => replaySlots.take());
    if (free.includes(false)) this.#found.add('a replay goes on');
    this.#clock.advanceBy(10_000);
    if (this.#clock.pending > 0) this.#found.add(`${this.#clock.pending} timers are left`);
  }
}

/** In any other tier than the accelerator's. */
function hostCopies({ blocks }: EndpointEvents['view'], block: number): number {
  return blocks.copies(block, 1) + blocks.copies(block, 2) + blocks.copies(block, 3);
}
