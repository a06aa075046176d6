import { Worker } from 'node:worker_threads';
import type { Log } from '../../runtime/log.ts';
import type { GainReport } from '../promotion/paired-gain.ts';
import type { ParityReport } from './parity.ts';
import type { ShadowData } from './shadow-data.ts';

export interface ShadowReport extends ParityReport {
  /** By its own predictions. */
  readonly gain: GainReport;
  /** Where another process or a module decides: its name, and how often it gave no answer that counts. */
  readonly replacement?: { readonly name: string; readonly undecided: number };
}

/** What the thread says to each batch, and once a second in a long one. */
export interface ShadowMessage {
  readonly report: ShadowReport;
  /** The batch's decisions as JSON Lines, if they are to be told. */
  readonly lines: string;
  /** With all of the batch. */
  readonly batchDone: boolean;
}

export interface ShadowOptions extends Omit<ShadowData, 'tells'> {
  readonly name: string;
  /** Given each decision as a line of JSON. */
  readonly onDecisions?: ((lines: string) => void) | undefined;
  /** The lines that it must know first, whenever it begins. */
  readonly initialRecords: () => Uint8Array;
  /** Called before what has come is passed on: whoever keeps lines together hands over what it has. */
  readonly drain?: (() => void) | undefined;
  readonly log: Log;
}

export interface ShadowStatus {
  readonly name: string;
  readonly running: boolean;
  /** Since it was started last. */
  readonly parity: ShadowReport | undefined;
  /** Times that it had to be started anew: it crashed, hung, or fell behind. */
  readonly restarts: number;
  /** Records it was not told because it had fallen behind. */
  readonly dropped: number;
}

export interface Shadow {
  /** Whole lines of records, and how many. It takes a copy. */
  readonly receive: (lines: Uint8Array, records: number) => void;
  status(): ShadowStatus;
  stop(): Promise<void>;
}

interface Batch {
  readonly lines: Uint8Array;
  readonly records: number;
}

/** How often what has come is passed on. */
const BATCH_MS = 50;
/** Of one batch, so that a shadow that only is behind answers long before it would be taken to hang. */
const BATCH_BYTES_MAX = 512 * 1024;
/** A shadow that says nothing for so long, with something to do, hangs, or the machine has nothing to spare for it. */
const HANG_MS = 30_000;
/** Nor does one begin that has said nothing for so long: where cores are busy, eight threads take their time to load. */
const BEGIN_MS = 60_000;
/** Further behind than this it is started anew: its state would be of another time. */
const WAITING_BYTES_MAX = 16 * 1024 * 1024;
/** Between restarts, doubled each time up to the other. */
const RESTART_MS = 1000;
const RESTART_MS_MAX = 60_000;

/**
 * A second scheduler beside the one in charge, in a thread of its own, fed with all that the first is fed. Whatever it does,
 * crash, hang or be slow, the first hears nothing of it: it is started anew, and what it missed is counted.
 */
export function startShadow(options: ShadowOptions): Shadow {
  return new ShadowThread(options);
}

class ShadowThread implements Shadow {
  readonly #options: ShadowOptions;
  readonly #timer: NodeJS.Timeout;
  #worker: Worker | undefined;
  #batches: Batch[] = [];
  #bytes = 0;
  /** It has loaded, and answers. */
  #ready = false;
  /** More has come than is kept before it was ready: it begins when it is. */
  #overflowed = false;
  /** When the batch was sent that is not answered yet. */
  #sentAt: number | undefined;
  #parity: ShadowReport | undefined;
  #restarts = 0;
  #dropped = 0;
  #restartAt = 0;

  constructor(options: ShadowOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#tick(), BATCH_MS);
    this.#timer.unref();
    this.#start();
  }

  readonly receive = (lines: Uint8Array, records: number): void => {
    if (this.#worker === undefined || this.#overflowed) {
      this.#dropped += records;
      return;
    }
    this.#batches.push({ lines: lines.slice(), records });
    this.#bytes += lines.length;
    if (this.#bytes <= WAITING_BYTES_MAX) return;
    if (this.#ready) this.#fail('has fallen behind');
    else {
      this.#overflowed = true;
      this.#dropQueue();
    }
  };

  status(): ShadowStatus {
    return {
      name: this.#options.name,
      running: this.#worker !== undefined,
      parity: this.#parity,
      restarts: this.#restarts,
      dropped: this.#dropped,
    };
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#worker?.terminate();
    this.#worker = undefined;
  }

  #start(): void {
    const { config, source, plugins, state, initialRecords, onDecisions } = this.#options;
    // Sources or their build, whichever this file is of.
    const extension = import.meta.filename.endsWith('.ts') ? 'ts' : 'js';
    const reportsDecisions = onDecisions !== undefined;
    const workerData: ShadowData = { config, source, plugins, state, reportsDecisions };
    const worker = new Worker(new URL(`./shadow-worker.${extension}`, import.meta.url), {
      workerData,
    });
    worker.unref();
    // Before anything is heard: what comes until then was before it.
    this.#queueFirst(initialRecords());
    this.#worker = worker;
    this.#parity = undefined;
    this.#ready = false;
    this.#overflowed = false;
    this.#sentAt = performance.now();
    worker.on('message', ({ report: answer, lines, batchDone: ended }: ShadowMessage) => {
      if (this.#worker !== worker) return;
      this.#ready = true;
      this.#parity = answer;
      this.#sentAt = ended ? undefined : performance.now();
      if (this.#overflowed) {
        const first = initialRecords();
        this.#overflowed = false;
        this.#queueFirst(first);
      }
      // It is behind: what waits goes at once.
      if (ended && this.#bytes > BATCH_BYTES_MAX) this.#send(worker, performance.now());
      onDecisions?.(lines);
    });
    worker.on('error', (error) => {
      if (this.#worker === worker) this.#fail(`has crashed: ${error.message}`);
    });
  }

  #tick(): void {
    const now = performance.now();
    if (this.#worker === undefined) {
      if (now >= this.#restartAt) this.#start();
      return;
    }
    if (this.#sentAt !== undefined) {
      const patienceMs = this.#ready ? HANG_MS : BEGIN_MS;
      if (now - this.#sentAt > patienceMs) this.#fail(`has not answered for ${patienceMs} ms`);
      return;
    }
    this.#options.drain?.();
    if (this.#batches.length === 0) return;
    this.#send(this.#worker, now);
  }

  #queueFirst(lines: Uint8Array): void {
    this.#batches = [{ lines, records: 0 }];
    this.#bytes = lines.length;
  }

  #send(worker: Worker, now: number): void {
    let count = 0;
    let bytes = 0;
    for (const { lines } of this.#batches) {
      if (count > 0 && bytes + lines.length > BATCH_BYTES_MAX) break;
      count += 1;
      bytes += lines.length;
    }
    const batch = new Uint8Array(bytes);
    let at = 0;
    for (const { lines } of this.#batches.splice(0, count)) {
      batch.set(lines, at);
      at += lines.length;
    }
    worker.postMessage(batch, [batch.buffer]);
    this.#bytes -= bytes;
    this.#sentAt = now;
  }

  #dropQueue(): void {
    for (const { records } of this.#batches) this.#dropped += records;
    this.#batches = [];
    this.#bytes = 0;
  }

  #fail(reason: string): void {
    const { name, log } = this.#options;
    void this.#worker?.terminate();
    this.#worker = undefined;
    this.#dropQueue();
    const waitMs = Math.min(RESTART_MS_MAX, RESTART_MS * 2 ** Math.min(this.#restarts, 10));
    this.#restarts += 1;
    this.#restartAt = performance.now() + waitMs;
    log.warn({ shadow: name, reason, restartInMs: waitMs }, 'a shadow is started anew');
  }
}
