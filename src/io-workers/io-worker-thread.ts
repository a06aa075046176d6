import { Worker } from 'node:worker_threads';
import type { DrainTimes } from '../extproc/server/ext-proc-server.ts';
import { programFile } from '../files/folders.ts';
import type { Clock, Timer } from '../framework/runtime.ts';
import type { Log } from '../runtime/log/log.ts';
import { CoreLink, type CoreLinkOptions } from './core-link.ts';
import type { IoWorkerSetup, ReadingRules, ToCore, ToWorker } from './io-worker-setup.ts';
import { Pings } from './pings.ts';
import { TurnOutbox } from './turn-outbox.ts';

/** The wait before a restart, doubled each time up to the maximum. */
const RESTART_MS = 100;
const RESTART_MS_MAX = 10_000;

export interface IoWorkerThreadOptions {
  readonly number: number;
  /** What the thread gets when it starts. */
  readonly setup: () => IoWorkerSetup;
  readonly link: CoreLinkOptions;
  /** Called before each batch is handled. */
  readonly onBatch: () => void;
  /** Called when it has adopted how requests are read. */
  readonly onAdopted: () => void;
  /** Called when the thread has ended, however that came. */
  readonly onEnded: () => void;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * One I/O worker as the deciding thread sees it. One that ends costs its streams, and is started
 * again; one that hangs is ended.
 */
export class IoWorkerThread {
  readonly #options: IoWorkerThreadOptions;
  #worker: Worker | undefined;
  #link: CoreLink | undefined;
  #restart: Timer | undefined;
  #pings: Pings | undefined;
  #onDrained: () => void = () => undefined;
  #isListening = false;
  #isStopped = false;
  #restarts = 0;
  /** How many changes of how requests are read it has not adopted yet. */
  #unadopted = 0;
  #waitMs = RESTART_MS;

  constructor(options: IoWorkerThreadOptions) {
    this.#options = options;
  }

  get restarts(): number {
    return this.#restarts;
  }

  /** Whether it reads requests by the newest rules. One that has just started does. */
  get hasAdopted(): boolean {
    return this.#unadopted === 0;
  }

  /** Resolves once it listens. Rejects with an error that says why it cannot. */
  start(): Promise<void> {
    const { number, setup } = this.#options;
    const file = programFile('src/io-workers/io-worker');
    let worker: Worker;
    try {
      worker = new Worker(file, { workerData: setup(), name: `io-worker-${number}` });
    } catch (error) {
      // As where the process may have no more threads.
      const cause = error instanceof Error ? error : new Error(String(error));
      this.#ended(cause);
      return Promise.reject(cause);
    }
    return this.#follow(worker);
  }

  /** Resolves once it listens. */
  #follow(worker: Worker): Promise<void> {
    const outbox = new TurnOutbox(
      (batch, moved) => worker.postMessage({ kind: 'batch', batch } satisfies ToWorker, moved),
      (task) => void setImmediate(task),
    );
    this.#worker = worker;
    this.#link = new CoreLink(this.#options.link, outbox);
    return new Promise((resolve, reject) => {
      let cause = new Error('the thread of an I/O worker has ended');
      worker.on('error', (error: Error) => {
        cause = error;
      });
      worker.on('message', (message: ToCore) => {
        if (message.kind === 'listening') {
          this.#isListening = true;
          this.#pings = this.#startPings(worker, (error) => {
            cause = error;
          });
          resolve();
        } else if (message.kind === 'failed') {
          cause = new Error(message.message);
          cause.name = message.name;
          void worker.terminate();
        } else this.#take(message);
      });
      worker.once('exit', () => {
        reject(cause);
        this.#ended(cause);
      });
    });
  }

  send(message: ToWorker): void {
    this.#worker?.postMessage(message);
  }

  setReading(reading: ReadingRules): void {
    if (this.#worker === undefined) return;
    this.#unadopted += 1;
    this.send({ kind: 'reading', reading });
  }

  /** Resolves once its streams have ended, or are cut; the thread has ended then. */
  async drain(times: DrainTimes): Promise<void> {
    if (this.#worker === undefined) return this.stop();
    const drained = new Promise<void>((resolve) => {
      this.#onDrained = resolve;
    });
    this.send({ kind: 'drain', ...times });
    await drained;
    this.stop();
  }

  stop(): void {
    this.#isStopped = true;
    this.#restart?.cancel();
    void this.#worker?.terminate();
  }

  /** The thread has ended, and with it all its requests. Reservations of these are given back. */
  #ended(cause: Error): void {
    const { number, onEnded, clock, log } = this.#options;
    const link = this.#link;
    const wasListening = this.#isListening;
    this.#worker = undefined;
    this.#link = undefined;
    this.#isListening = false;
    this.#unadopted = 0;
    this.#pings?.stop();
    link?.close();
    onEnded();
    this.#onDrained();
    if (this.#isStopped) return;
    // One that has served is replaced soon; one that cannot begin is tried less and less often.
    this.#waitMs = wasListening ? RESTART_MS : Math.min(RESTART_MS_MAX, 2 * this.#waitMs);
    const restartInMs = this.#waitMs;
    log.error(
      { worker: number, err: cause, restartInMs },
      'an I/O worker has died: its streams are lost',
    );
    this.#restart = clock.setTimer(restartInMs, () => {
      this.#restarts += 1;
      // Its end is logged, and it is started again then.
      this.start().catch(() => undefined);
    });
  }

  #startPings(worker: Worker, onHung: (cause: Error) => void): Pings {
    return new Pings({
      clock: this.#options.clock,
      ping: () => worker.postMessage({ kind: 'ping' } satisfies ToWorker),
      onSilent: (forMs) => {
        onHung(new Error(`the thread of an I/O worker has not answered for ${forMs} ms`));
        void worker.terminate();
      },
    });
  }

  #take(message: Exclude<ToCore, { readonly kind: 'listening' | 'failed' }>): void {
    if (message.kind === 'alive') this.#pings?.answered();
    else if (message.kind === 'adopted') {
      this.#unadopted -= 1;
      this.#options.onAdopted();
    } else if (message.kind === 'drained') this.#onDrained();
    else {
      this.#options.onBatch();
      this.#link?.receive(message.batch);
    }
  }
}
