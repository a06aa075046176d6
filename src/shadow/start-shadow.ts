import { Worker } from 'node:worker_threads';
import { programFile } from '../files/folders.ts';
import { messageOf } from '../framework/error.ts';
import type { Clock, Millis, Timer } from '../framework/runtime.ts';
import { Deadline } from '../runtime/clock/deadline.ts';
import type { Log } from '../runtime/log/log.ts';
import type { TlsPaths } from '../runtime/network/client/outgoing-files.ts';
import { ANSWER_MS, beginMs, restartWaitMs } from './restarts.ts';
import type { ShadowData } from './shadow-data.ts';
import type { RefusedFilesMessage, ShadowMessage, ShadowReport } from './shadow-messages.ts';
import { WaitingRecords } from './waiting-records.ts';

export interface ShadowOptions extends Omit<ShadowData, 'reportsDecisions'> {
  readonly name: string;
  /** Receives each decision as a line of JSON. */
  readonly onDecisions?: ((lines: string) => void) | undefined;
  /** The records with which the shadow starts: the state of the picker at that time. */
  readonly initialRecords: () => Uint8Array;
  /** Called with files of TLS that its scheduler's connection cannot use any more. */
  readonly onFilesRefused?: ((files: TlsPaths) => void) | undefined;
  /** Called before records are sent, so that the recorder hands over what it has buffered. */
  readonly drain?: (() => void) | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

export interface ShadowStatus {
  readonly name: string;
  readonly running: boolean;
  /** Since the last start; undefined before the first report. */
  readonly parity: ShadowReport | undefined;
  /** How often it was restarted because it crashed, hung or fell behind. */
  readonly restarts: number;
  /** Records that it did not receive because it had fallen behind or was not running. */
  readonly dropped: number;
  /** Records for it that it has not processed yet. */
  readonly waiting: number;
}

export interface Shadow {
  /** Receives whole lines and the number of records in them. It copies the lines. */
  readonly receive: (lines: Uint8Array, records: number) => void;
  status(): ShadowStatus;
  stop(): Promise<void>;
}

/** The interval between batches. */
const BATCH_MS = 50;
/** A shadow that is further behind than this is restarted: its state would be too old. */
const WAITING_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Starts a second scheduler in its own thread, with the same inputs as the picker. If it crashes,
 * hangs or is slow, it is restarted, what it missed is counted, and the picker is not affected.
 */
export function startShadow(options: ShadowOptions): Shadow {
  return new ShadowThread(options);
}

class ShadowThread implements Shadow {
  readonly #options: ShadowOptions;
  #timer: Timer;
  #worker: Worker | undefined;
  readonly #waiting = new WaitingRecords();
  /** Records in the batch that was sent and is not answered. */
  #sent = 0;
  /** The thread is loaded and answers. */
  #ready = false;
  /** More records came before it was ready than are kept: it starts from the state at that time. */
  #overflowed = false;
  /** A batch was sent and is not answered, or the thread loads. */
  #isAsked = false;
  /**
   * Ends a thread that does not answer. Time in which the whole process stood still does not count.
   */
  #patience: Deadline | undefined;
  #parity: ShadowReport | undefined;
  #restarts = 0;
  #dropped = 0;
  #restartAt = 0;

  constructor(options: ShadowOptions) {
    this.#options = options;
    this.#timer = this.#nextTick();
    this.#start();
  }

  readonly receive = (lines: Uint8Array, records: number): void => {
    if (this.#worker === undefined || this.#overflowed) {
      this.#dropped += records;
      return;
    }
    this.#waiting.add(lines, records);
    if (this.#waiting.bytes <= WAITING_BYTES_MAX) return;
    if (this.#ready) this.#fail('has fallen behind');
    else {
      this.#overflowed = true;
      this.#dropped += this.#waiting.drop();
    }
  };

  status(): ShadowStatus {
    return {
      name: this.#options.name,
      running: this.#worker !== undefined,
      parity: this.#parity,
      restarts: this.#restarts,
      dropped: this.#dropped,
      waiting: this.#waiting.records + this.#sent,
    };
  }

  async stop(): Promise<void> {
    this.#timer.cancel();
    this.#patience?.stop();
    const worker = this.#worker;
    // First, so that its end is not taken for a crash.
    this.#worker = undefined;
    await worker?.terminate();
  }

  #start(): void {
    let worker: Worker;
    try {
      worker = this.#startWorker();
    } catch (error) {
      // As where the process may have no more threads.
      this.#fail(`cannot be started: ${messageOf(error)}`);
      return;
    }
    // Queued before any other record: earlier records are part of this state.
    this.#waiting.beginWith(this.#options.initialRecords());
    this.#worker = worker;
    this.#parity = undefined;
    this.#ready = false;
    this.#overflowed = false;
    this.#waitFor(beginMs(this.#restarts));
    worker.on('message', (message: ShadowMessage | RefusedFilesMessage) => {
      if (this.#worker !== worker) return;
      if ('refusedFiles' in message) this.#options.onFilesRefused?.(message.refusedFiles);
      else this.#onMessage(message, worker);
    });
    worker.on('error', (error) => {
      if (this.#worker === worker) this.#fail(`has crashed: ${error.message}`);
    });
    // A plugin may end its thread without an error.
    worker.on('exit', (code) => {
      if (this.#worker === worker) this.#fail(`has ended with code ${code}`);
    });
  }

  #startWorker(): Worker {
    const { config, source, featureGates, plugins, state, onDecisions } = this.#options;
    const reportsDecisions = onDecisions !== undefined;
    const inputs = { config, source, featureGates, plugins, state };
    const workerData: ShadowData = { ...inputs, reportsDecisions };
    const worker = new Worker(programFile('src/shadow/shadow-worker'), { workerData });
    worker.unref();
    return worker;
  }

  #onMessage({ report, lines, batchDone: ended }: ShadowMessage, worker: Worker): void {
    if (!this.#ready) this.#waitFor(ANSWER_MS);
    this.#ready = true;
    this.#parity = report;
    this.#isAsked = !ended;
    if (ended) {
      this.#sent = 0;
      this.#patience?.pause();
    } else this.#patience?.restart();
    if (this.#overflowed) {
      const first = this.#options.initialRecords();
      this.#overflowed = false;
      this.#waiting.beginWith(first);
    }
    // The shadow is behind: send the next batch at once.
    if (ended && this.#waiting.exceedsBatch) this.#send(worker);
    this.#options.onDecisions?.(lines);
  }

  #nextTick(): Timer {
    return this.#options.clock.setTimer(BATCH_MS, () => {
      this.#timer = this.#nextTick();
      this.#tick();
    });
  }

  #tick(): void {
    if (this.#worker === undefined) {
      if (this.#options.clock.now() >= this.#restartAt) this.#start();
      return;
    }
    // This is done while it computes, too, so that all that waits for it is counted.
    this.#options.drain?.();
    if (this.#isAsked) return;
    if (!this.#waiting.isEmpty) this.#send(this.#worker);
  }

  #waitFor(limitMs: Millis): void {
    this.#patience?.stop();
    this.#patience = new Deadline(this.#options.clock, limitMs, () =>
      this.#fail(`has not answered for ${limitMs} ms`),
    );
    this.#patience.restart();
    this.#isAsked = true;
  }

  #send(worker: Worker): void {
    const { bytes, records } = this.#waiting.takeBatch();
    worker.postMessage(bytes, [bytes.buffer]);
    this.#sent += records;
    this.#isAsked = true;
    this.#patience?.restart();
  }

  #fail(reason: string): void {
    const { name, clock, log } = this.#options;
    this.#patience?.stop();
    void this.#worker?.terminate();
    this.#worker = undefined;
    this.#dropped += this.#waiting.drop();
    this.#sent = 0;
    const waitMs = restartWaitMs(this.#restarts);
    this.#restarts += 1;
    this.#restartAt = clock.now() + waitMs;
    log.warn({ shadow: name, reason, restartInMs: waitMs }, 'a shadow is restarted');
  }
}
