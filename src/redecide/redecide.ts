import { ConfigError } from '../framework/error.ts';
import type { ReplacementReport } from '../framework/replacement.ts';
import type { Clock } from '../framework/runtime.ts';
import {
  type CaptureHead,
  type CaptureRecord,
  isNewRun,
} from '../journal/capture/capture-record.ts';
import type { RedecideOptions } from './redecide-options.ts';
import { Redecider } from './redecider.ts';
import type { Redecision } from './redecision.ts';

export interface RunRedecision extends Redecision {
  /** Counts the picker's runs in the capture from 1. Each run numbers its requests from 0. */
  readonly run: number;
  /** Whether the capture lacks records of the run from before. */
  readonly isPartial: boolean;
}

export interface RunOptions extends RedecideOptions {
  /** Called at the end of each run in which a replacement decides in place of the profiles. */
  readonly onReplacement?: ((report: ReplacementReport) => void) | undefined;
}

/** A scheduler that does not answer within this time is not running, or starts too slowly. */
const CONNECT_MS = 5000;
const POLL_MS = 10;

/**
 * Makes all decisions of a capture again, one at a time, with a new core for each run of the
 * picker. With `schedulerRuntime` a scheduler in another process is asked about every request, and
 * waited for. Throws for a capture without its beginning, and ConfigError where such a scheduler
 * cannot be reached.
 */
export async function* redecide(
  records: Iterable<CaptureRecord>,
  options: RunOptions,
): AsyncGenerator<RunRedecision, void> {
  let current: Run | undefined;
  let head: CaptureHead | undefined;
  let run = 0;
  let isPartial = false;
  try {
    for (const record of records) {
      if (record.e === 'capture') {
        if (isNewRun(record, head)) {
          current?.end();
          current = new Run(record, options);
          run += 1;
          isPartial = record.file > 0;
        }
        head = record;
        continue;
      }
      if (current === undefined) {
        const message = 'has no beginning: its first record must be of kind capture';
        throw new ConfigError('redecide', [{ path: 'the capture', message }]);
      }
      if (record.e === 'q' && current.asks) await current.ask(record);
      if (record.e === 'gap') isPartial = true;
      const decided = current.redecider.take(record);
      if (decided !== undefined) yield { ...decided, run, isPartial };
    }
  } finally {
    current?.end();
  }
}

/** One run of a picker, decided again. */
class Run {
  readonly redecider: Redecider;
  /** The clock of schedulers in other processes; undefined where none is asked. */
  readonly #clock: Clock | undefined;
  readonly #onReplacement: RunOptions['onReplacement'];
  #asked = false;
  /** False after the scheduler was once not reachable again in time. */
  #waitsForConnection = true;

  constructor(head: CaptureHead, options: RunOptions) {
    this.redecider = new Redecider(head, options);
    this.#clock = options.schedulerRuntime?.clock;
    this.#onReplacement = options.onReplacement;
  }

  get asks(): boolean {
    return this.#clock !== undefined && this.redecider.isReplaced;
  }

  async ask(record: Extract<CaptureRecord, { e: 'q' }>): Promise<void> {
    if (this.#waitsForConnection && !(await this.#connected())) {
      if (!this.#asked) throw unreachable(this.redecider.replacement());
      this.#waitsForConnection = false;
    }
    this.#asked = true;
    await this.redecider.prepare(record);
  }

  end(): void {
    const report = this.redecider.replacement();
    if (report !== undefined) this.#onReplacement?.(report);
    this.redecider.stop();
  }

  async #connected(): Promise<boolean> {
    const clock = this.#clock;
    // A module is always connected.
    const isConnected = (): boolean => this.redecider.replacement()?.connected !== false;
    for (let waitedMs = 0; clock !== undefined && !isConnected(); waitedMs += POLL_MS) {
      if (waitedMs >= CONNECT_MS) return false;
      await new Promise<void>((resolve) => clock.setTimer(POLL_MS, resolve));
    }
    return true;
  }
}

function unreachable(report: ReplacementReport | undefined): ConfigError {
  const message = `${report?.name ?? 'it'} has not accepted a connection within ${CONNECT_MS} ms: start it first`;
  return new ConfigError('redecide', [{ path: 'scheduler', message }]);
}
