import { HeldEndpoints } from '../../../src/endpoints/discovery/kubernetes/pool/held-endpoints.ts';
import type { Random } from '../../../src/framework/runtime.ts';
import type { EndpointPool } from '../../../src/picker/pool/endpoint-pool.ts';
import { seededRandom } from '../../../src/runtime/seeded-random.ts';
import { happen } from '../kubernetes/pool-events.ts';
import { follow, makeWorldOf, pool, type World } from '../kubernetes/pool-world.ts';
import { UnsteadyClock } from '../unsteady-clock.ts';

export interface PoolStormOptions {
  readonly events: number;
  readonly pace: UnsteadyClock['pace'];
}

export interface PoolStorm {
  /** Endpoints that came. */
  readonly came: number;
  readonly lists: number;
  /** What must not be: one sentence each. */
  readonly faults: readonly string[];
}

/** Longer than any delay between two attempts, and than a list without an answer. */
const SETTLED_MS = 90_000;

/**
 * Follows a pool whose API server is away, silent, forgets versions or answers within calls, in time
 * that passes unsteadily. Followers end meanwhile, also in the turn after one that tells of endpoints.
 */
export function poolStorm(seed: number, options: PoolStormOptions): Promise<PoolStorm> {
  return new RunningStorm(seed, options).run();
}

type Followed = ReturnType<typeof follow> & {
  readonly stop: () => void;
  readonly isStopped: () => boolean;
};

class RunningStorm {
  readonly #options: PoolStormOptions;
  readonly #random: Random;
  readonly #world: World<UnsteadyClock>;
  readonly #faults: string[] = [];
  #came = 0;
  #isCalm = false;

  constructor(seed: number, options: PoolStormOptions) {
    this.#options = options;
    this.#random = seededRandom(seed);
    const clock = new UnsteadyClock(this.#random.fork('clock'));
    clock.pace = options.pace;
    this.#world = makeWorldOf(clock);
    this.#world.pools.put('pool', pool([8000]));
  }

  async run(): Promise<PoolStorm> {
    const { clock } = this.#world;
    let followed = this.#follow();
    for (let n = 0; n < this.#options.events; n++) {
      const { pauseMs } = happen(this.#world, this.#random);
      this.#changeServer();
      if (pauseMs > 0) await clock.runFor(pauseMs);
      if (this.#chance(0.002)) followed.stop();
      if (followed.isStopped()) followed = this.#follow();
    }
    await this.#settle(followed);
    return { came: this.#came, lists: this.#world.pods.lists, faults: this.#faults };
  }

  /** Nothing fails any more: the endpoints are those of a fresh list, and the end leaves nothing. */
  async #settle(followed: Followed): Promise<void> {
    const { clock, pools } = this.#world;
    this.#isCalm = true;
    for (const each of this.#resources()) Object.assign(each, { up: true, mute: false });
    pools.put('pool', pool([8000, 8001]));
    if (clock.pace !== 'still') clock.pace = 'steady';
    await clock.runFor(SETTLED_MS);
    const fresh = this.#follow();
    await clock.runFor(10_000);
    const [is, should] = [followed.state().join('\n'), fresh.state().join('\n')];
    if (is !== should) this.#faults.push(`the endpoints are\n${is}\nand not\n${should}`);
    for (const { follower } of [followed, fresh]) {
      if (!follower.synced) this.#faults.push('not everything is listed');
      this.#faults.push(...follower.troubles.filter((each) => !each.includes('two pods')));
    }
    followed.stop();
    fresh.stop();
    pools.put('pool', pool([8000]));
    await clock.runFor(SETTLED_MS);
    if (clock.pending > 0) this.#faults.push(`${clock.pending} timers are left`);
  }

  /** What is stopped takes nothing in any more. */
  #checkSilent({ endpoints }: Pick<Followed, 'endpoints'>): void {
    let isOver = false;
    const say = (): void => {
      if (isOver) this.#faults.push('endpoints change after the end');
    };
    endpoints.observeEndpoints({ onEndpointAdded: say, onEndpointRemoved: say });
    isOver = true;
  }

  #follow(): Followed {
    const { clock } = this.#world;
    let held: HeldEndpoints | undefined;
    const sink = (endpoints: EndpointPool): HeldEndpoints =>
      (held = new HeldEndpoints({ pool: endpoints, clock }));
    const followed = follow(this.#world, sink);
    const release = clock.setTimer(2000 * this.#random.next(), () => held?.release());
    let isStopped = false;
    const stop = (): void => {
      isStopped = true;
      release.cancel();
      held?.stop();
      followed.follower.stop();
      this.#checkSilent(followed);
    };
    followed.endpoints.observeEndpoints({
      onEndpointAdded: () => {
        this.#came += 1;
        if (!this.#isCalm && this.#chance(0.002)) clock.setTimer(0, stop);
      },
    });
    return { ...followed, stop, isStopped: () => isStopped };
  }

  #changeServer(): void {
    const each = this.#resources()[Math.floor(3 * this.#random.next())];
    if (each === undefined) return;
    if (this.#chance(0.01)) each.atOnce = !each.atOnce;
    if (this.#chance(0.003)) each.mute = true;
    if (this.#chance(0.01)) each.mute = false;
    if (this.#chance(0.001)) this.#world.clock.pass(100_000);
  }

  #resources() {
    const { pools, pods, nodes } = this.#world;
    return [pools, pods, nodes];
  }

  #chance(probability: number): boolean {
    return this.#random.next() < probability;
  }
}
