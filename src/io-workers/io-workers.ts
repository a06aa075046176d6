import type { RuleReaders } from '../endpoints/rewrites/request-rules.ts';
import type { DrainTimes, ExtProcServer } from '../extproc/server/ext-proc-server.ts';
import { Health } from '../extproc/server/health/health.ts';
import {
  type HealthPortOptions,
  startHealthListener,
} from '../extproc/server/health/health-port.ts';
import type { Listener } from '../extproc/server/port/listener.ts';
import type { ServerLimits } from '../extproc/server/port/server-limits.ts';
import type { TlsCredentials } from '../extproc/server/port/tls-credentials.ts';
import type { StreamUsage } from '../extproc/streams/open-streams.ts';
import type { Clock } from '../framework/runtime.ts';
import type { Log } from '../runtime/log/log.ts';
import { freePort } from '../runtime/network/server/listen.ts';
import type { CoreLinkOptions } from './core-link.ts';
import type { IoWorkerSetup, ReadingRules, ToWorker } from './io-worker-setup.ts';
import { IoWorkerThread } from './io-worker-thread.ts';
import { newUsageCell, readUsage, retireUsage } from './usage-cell.ts';

export interface IoWorkersOptions extends HealthPortOptions {
  /** How many. */
  readonly workers: number;
  /** 0 selects a free port. */
  readonly port: number;
  /** What each of them gets besides. */
  readonly given: Omit<
    IoWorkerSetup,
    'host' | 'port' | 'tls' | 'limits' | 'number' | 'cells' | 'reading' | 'serving'
  >;
  readonly tls: TlsCredentials | 'plaintext';
  /** They hold for all workers together. */
  readonly limits: ServerLimits;
  readonly link: CoreLinkOptions;
  /** What holds now. */
  readonly reading: () => ReadingRules;
  /** Called before the workers start. The argument must be called for each change of `reading`. */
  readonly onStart: (workers: RuleReaders) => void;
  readonly clock: Clock;
  readonly log: Log;
}

export interface IoWorkers extends ExtProcServer {
  /** How often a worker has been started again. */
  restarts(): number;
  /** Sends `reading` to all workers, where it has changed. */
  refresh(): void;
}

/**
 * An ext_proc server in several threads, whose picks are made in this one. Rejects with a
 * ListenError.
 */
export async function startIoWorkers(options: IoWorkersOptions): Promise<IoWorkers> {
  const { host, port: asked, tls } = options;
  // Workers share the port with any other process of this user: such a process would go unnoticed.
  const port = await freePort(host, asked);
  const pool = new WorkerPool({ ...options, port });
  options.onStart(pool);
  await pool.start();
  const health = new Health();
  const healthListener = await startHealthListener(options, health).catch((error: unknown) => {
    pool.stop();
    throw error;
  });
  if (tls !== 'plaintext') tls.follow((context) => pool.send({ kind: 'tls', context }));
  return {
    port,
    healthPort: healthListener?.port,
    sessions: () => pool.usage().openStreams,
    usage: () => pool.usage(),
    restarts: () => pool.restarts,
    refresh: () => pool.refresh(),
    setServing(serving) {
      health.setServing(serving);
      pool.setServing(serving);
    },
    async drain(times) {
      health.setServing(false);
      await pool.drain(times);
      closeHealth(healthListener);
    },
  };
}

function closeHealth(listener: Listener | undefined): void {
  void listener?.close();
  listener?.cut();
}

/** The threads, and what is sent to all of them. */
class WorkerPool implements RuleReaders {
  readonly #options: IoWorkersOptions;
  readonly #cells: readonly Float64Array<SharedArrayBuffer>[];
  /** What workers used that have ended. */
  readonly #ended = newUsageCell();
  readonly #threads: readonly IoWorkerThread[];
  #reading: ReadingRules;
  /** Called when all workers read requests by `#reading`. */
  #whenAdopted: (() => void)[] = [];
  #serving = false;

  constructor(options: IoWorkersOptions) {
    this.#options = options;
    this.#reading = options.reading();
    this.#cells = Array.from({ length: options.workers }, newUsageCell);
    this.#threads = this.#cells.map(
      (usage, index) =>
        new IoWorkerThread({
          ...options,
          number: index,
          setup: () => this.#setup(index),
          onBatch: () => this.refresh(),
          onAdopted: () => this.#adopted(),
          onEnded: () => {
            retireUsage(usage, this.#ended);
            this.#adopted();
          },
        }),
    );
  }

  get restarts(): number {
    return this.#threads.reduce((sum, { restarts }) => sum + restarts, 0);
  }

  async start(): Promise<void> {
    try {
      await Promise.all(this.#threads.map((thread) => thread.start()));
    } catch (error) {
      this.stop();
      throw error;
    }
  }

  stop(): void {
    for (const thread of this.#threads) thread.stop();
  }

  send(message: ToWorker): void {
    for (const thread of this.#threads) thread.send(message);
  }

  setServing(serving: boolean): void {
    this.#serving = serving;
    this.send({ kind: 'serving', serving });
  }

  refresh(): void {
    const reading = this.#options.reading();
    if (sameRules(reading, this.#reading)) return;
    this.#reading = reading;
    for (const thread of this.#threads) thread.setReading(reading);
  }

  whenAdopted(then: () => void): void {
    this.#whenAdopted.push(then);
    this.#adopted();
  }

  usage(): StreamUsage {
    const { heldBytesMax, streamsMax } = this.#options.limits;
    return { ...readUsage([...this.#cells, this.#ended]), heldBytesMax, streamsMax };
  }

  async drain(times: DrainTimes): Promise<void> {
    this.#serving = false;
    await Promise.all(this.#threads.map((thread) => thread.drain(times)));
  }

  #adopted(): void {
    if (!this.#threads.every(({ hasAdopted }) => hasAdopted)) return;
    for (const then of this.#whenAdopted.splice(0)) then();
  }

  #setup(number: number): IoWorkerSetup {
    const { given, host, port, tls, limits } = this.#options;
    return {
      ...given,
      host,
      port,
      tls: tls === 'plaintext' ? tls : tls.context,
      limits,
      number,
      cells: this.#cells,
      reading: this.#reading,
      serving: this.#serving,
    };
  }
}

function sameRules(one: ReadingRules, other: ReadingRules): boolean {
  return (
    one.priorities === other.priorities &&
    one.rewrites === other.rewrites &&
    one.parsers === other.parsers &&
    one.propagatesPriority === other.propagatesPriority &&
    one.prompts === other.prompts &&
    one.answersEndpointOnly === other.answersEndpointOnly &&
    one.preparing === other.preparing
  );
}
