import { EventEmitter } from 'node:events';
import { syncBuiltinESMExports } from 'node:module';
import workerThreads from 'node:worker_threads';
import type { Clock, Millis, Random } from '../../../src/framework/runtime.ts';

const utf8 = new TextDecoder();

export interface ThreadFaults {
  /** Threads neither fail nor hang. */
  calm: boolean;
}

/** What happens to the records that threads get. */
export interface ThreadObserver {
  /** Something that must not be: one sentence. */
  fault(sentence: string): void;
  processed(records: number): void;
}

/**
 * Has the process start shadows that are no threads: by a clock and by chance they are slow, hang,
 * crash and end. Their records are numbers, of which each must follow the one before it; the first
 * says which numbers its state has. `end` gives the process its threads back.
 */
export class SimulatedThreads {
  readonly running: Set<SimulatedThread> = new Set();
  readonly clock: Clock;
  readonly random: Random;
  readonly faults: ThreadFaults;
  readonly observer: ThreadObserver;
  readonly #real = workerThreads.Worker;

  constructor(clock: Clock, random: Random, faults: ThreadFaults, observer: ThreadObserver) {
    this.clock = clock;
    this.random = random;
    this.faults = faults;
    this.observer = observer;
    const begin = (): SimulatedThread => new SimulatedThread(this);
    const Thread = function (): SimulatedThread {
      return begin();
    };
    this.#replace(Thread as unknown as typeof workerThreads.Worker);
  }

  end(): void {
    this.#replace(this.#real);
  }

  happens(probability: number): boolean {
    return !this.faults.calm && this.random.next() < probability;
  }

  #replace(by: typeof workerThreads.Worker): void {
    workerThreads.Worker = by;
    syncBuiltinESMExports();
  }
}

class SimulatedThread extends EventEmitter {
  readonly #threads: SimulatedThreads;
  #isOver = false;
  #isHanging: boolean;
  /** The last record of its state. */
  #last: number | undefined;
  #waiting: string[] = [];
  #isBusy = true;

  constructor(threads: SimulatedThreads) {
    super();
    this.#threads = threads;
    if (threads.happens(0.1)) throw new Error('ERR_WORKER_INIT_FAILED: EAGAIN');
    threads.running.add(this);
    this.#isHanging = threads.happens(0.05);
    this.#after(threads.happens(0.2) ? 20_000 : 300, () => this.#answer());
  }

  unref(): void {}

  postMessage(batch: Uint8Array): void {
    if (this.#isBusy) this.#threads.observer.fault('a batch was sent before the last was answered');
    this.#waiting.push(utf8.decode(batch));
    this.#isBusy = true;
    if (this.#threads.happens(0.01)) this.#isHanging = true;
    if (this.#threads.happens(0.02)) {
      this.#after(50, () => this.#crash());
      return;
    }
    this.#after(this.#threads.happens(0.05) ? 5000 : 20, () => this.#process());
  }

  terminate(): Promise<number> {
    this.#end();
    this.#threads.clock.setTimer(1, () => this.emit('exit', 1));
    return Promise.resolve(1);
  }

  #process(): void {
    for (const text of this.#waiting.splice(0)) {
      const lines = text.split('\n').filter((line) => line.trim() !== '');
      for (const line of lines) this.#take(line);
      this.#threads.observer.processed(lines.length);
    }
    this.#answer();
  }

  #take(line: string): void {
    const isFirst = line.startsWith('state ');
    const number = Number(isFirst ? line.slice('state '.length) : line);
    if (!isFirst && this.#last === undefined)
      this.#threads.observer.fault(`record ${number} came before any state`);
    if (!isFirst && this.#last !== undefined && number !== this.#last + 1)
      this.#threads.observer.fault(`record ${number} follows ${this.#last}`);
    this.#last = number;
  }

  #answer(): void {
    this.#isBusy = false;
    this.emit('message', { report: {}, lines: '', batchDone: true });
  }

  #crash(): void {
    this.#end();
    if (this.#threads.random.next() < 0.5) this.emit('error', new Error('a plugin has failed'));
    this.emit('exit', 1);
  }

  #end(): void {
    this.#isOver = true;
    this.#threads.running.delete(this);
  }

  #after(delayMs: Millis, task: () => void): void {
    this.#threads.clock.setTimer(2 * delayMs * this.#threads.random.next(), () => {
      if (!this.#isOver && !this.#isHanging) task();
    });
  }
}
