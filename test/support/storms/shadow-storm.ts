import type { Random } from '../../../src/framework/runtime.ts';
import { createLog } from '../../../src/runtime/log/log.ts';
import { seededRandom } from '../../../src/runtime/seeded-random.ts';
import { shadowFrom } from '../../../src/shadow/shadow-data.ts';
import { type Shadow, startShadow } from '../../../src/shadow/start-shadow.ts';
import { UnsteadyClock } from '../unsteady-clock.ts';
import { SimulatedThreads, type ThreadFaults } from './simulated-threads.ts';

export interface ShadowStormOptions {
  readonly steps: number;
  readonly pace: UnsteadyClock['pace'];
  /** The bytes of what a shadow begins with. */
  readonly stateBytes?: number;
}

export interface ShadowStorm {
  readonly restarts: number;
  readonly dropped: number;
  readonly processed: number;
  /** What must not be: one sentence each. */
  readonly faults: readonly string[];
}

/** Longer than the longest wait before a restart, and than a thread may take to begin. */
const CALM_MS = 10 * 60_000;
const LARGE_BYTES = 1024 * 1024;

/**
 * A shadow whose thread crashes, hangs, ends, is slow and cannot be made, beside a recorder that
 * gathers records, and hands over many at times, in unsteady time.
 */
export async function shadowStorm(seed: number, options: ShadowStormOptions): Promise<ShadowStorm> {
  const storm = new RunningStorm(seed, options);
  try {
    return await storm.run();
  } finally {
    storm.threads.end();
  }
}

class RunningStorm {
  readonly threads: SimulatedThreads;
  readonly #options: ShadowStormOptions;
  readonly #random: Random;
  readonly #clock: UnsteadyClock;
  readonly #threadFaults: ThreadFaults = { calm: false };
  readonly #faults = new Set<string>();
  readonly #shadow: Shadow;
  /** Records so far, and how many of them the recorder has handed over. */
  #recorded = 0;
  #handedOver = 0;
  #processed = 0;

  constructor(seed: number, options: ShadowStormOptions) {
    this.#options = options;
    this.#random = seededRandom(seed);
    this.#clock = new UnsteadyClock(this.#random.fork('clock'));
    this.#clock.pace = options.pace;
    this.threads = new SimulatedThreads(
      this.#clock,
      this.#random.fork('threads'),
      this.#threadFaults,
      {
        fault: (sentence) => void this.#faults.add(sentence),
        processed: (records) => void (this.#processed += records),
      },
    );
    const drain = (): void => this.#drain();
    this.#shadow = startShadow({
      ...shadowFrom('random'),
      name: 's',
      drain,
      initialRecords: () => {
        drain();
        const padding = ' '.repeat(this.#options.stateBytes ?? 0);
        return Buffer.from(`state ${this.#recorded}\n${padding}\n`);
      },
      clock: this.#clock,
      log: createLog('silent'),
    });
  }

  async run(): Promise<ShadowStorm> {
    for (let step = 0; step < this.#options.steps; step++) {
      this.#recorded += Math.floor(20 * this.#random.next());
      if (this.#random.next() < 0.2) this.#drain();
      this.#clock.advanceBy(100 * this.#random.next());
      if (this.#random.next() < 0.003) this.#clock.advanceBy(60_000 * this.#random.next());
      if (this.#random.next() < 0.002) this.#clock.pass(100_000);
      this.#check();
    }
    await this.#end();
    const { restarts, dropped } = this.#shadow.status();
    return { restarts, dropped, processed: this.#processed, faults: [...this.#faults] };
  }

  /** Records are long at times, so that what waits for a slow thread is too much. */
  #drain(): void {
    const records = this.#recorded - this.#handedOver;
    if (records === 0) return;
    const first = this.#handedOver + 1;
    this.#handedOver = this.#recorded;
    const numbers = Array.from({ length: records }, (_, at) => `${first + at}\n`).join('');
    const padding = this.#random.next() < 0.05 ? `${' '.repeat(LARGE_BYTES)}\n` : '';
    this.#shadow.receive(Buffer.from(numbers + padding), records);
  }

  #check(): void {
    const { waiting, dropped } = this.#shadow.status();
    if (this.threads.running.size > 1) this.#faults.add('two threads run');
    if (waiting < 0 || dropped < 0) this.#faults.add(`${waiting} wait and ${dropped} are dropped`);
    if (waiting + dropped > this.#handedOver) this.#faults.add('a record is counted twice');
  }

  /** Threads do what they should: the shadow has all records, and its end leaves nothing. */
  async #end(): Promise<void> {
    this.#threadFaults.calm = true;
    if (this.#clock.pace !== 'still') this.#clock.pace = 'steady';
    for (const each of this.threads.running) await each.terminate();
    this.#clock.advanceBy(CALM_MS);
    const before = this.#shadow.status();
    this.#recorded += 10;
    this.#clock.advanceBy(5000);
    const { running, waiting, restarts, dropped } = this.#shadow.status();
    if (!running || waiting > 0) this.#faults.add(`running: ${running}, ${waiting} records wait`);
    if (restarts !== before.restarts || dropped !== before.dropped)
      this.#faults.add('the shadow is restarted, though nothing fails');
    await this.#shadow.stop();
    if (this.threads.running.size > 0) this.#faults.add('a thread goes on');
    this.#shadow.receive(Buffer.from('1\n'), 1);
    this.#clock.advanceBy(CALM_MS);
    if (this.#clock.pending > 0) this.#faults.add(`${this.#clock.pending} timers are left`);
  }
}
