import { ConfigError } from '../../framework/error.ts';
import type { ReplacementReport } from '../../framework/plugin.ts';
import type { Clock } from '../../framework/runtime.ts';
import {
  type CaptureHead,
  type CaptureRecord,
  isNewRun,
} from '../../journal/capture/capture-record.ts';
import { type RedecideOptions, Redecider } from './redecider.ts';
import type { Redecision } from './redecision.ts';

export interface RunRedecision extends Redecision {
  /** From 1: of the picker's runs that are in the capture. Each numbers its requests from 0. */
  readonly run: number;
}

export interface RunOptions extends RedecideOptions {
  /** At the end of each run, where a scheduler stands in place of the profiles. */
  readonly onReplacement?: ((report: ReplacementReport) => void) | undefined;
}

/** A scheduler that is not there by then is not running, or starts for too long. */
const CONNECT_MS = 5000;
const POLL_MS = 10;

/**
 * Decides everything in a capture again, one decision a step; each run of the picker by a core of its own, as it was. With
 * `schedulerRuntime` a scheduler in another process is asked about every request, and waited for. Throws on a capture that
 * does not begin at its beginning, and ConfigError where such a scheduler cannot be reached.
 */
export async function* redecide(
  records: Iterable<CaptureRecord>,
  options: RunOptions,
): AsyncGenerator<RunRedecision, void> {
  let current: Run | undefined;
  let head: CaptureHead | undefined;
  let run = 0;
  try {
    for (const record of records) {
      if (record.e === 'capture') {
        if (isNewRun(record, head)) {
          current?.end();
          current = new Run(record, options);
          run += 1;
        }
        head = record;
        continue;
      }
      if (current === undefined) {
        const message =
          'the capture has no beginning: its first record must be of the kind capture';
        throw new Error(message);
      }
      if (record.e === 'q' && current.asks) await current.ask(record);
      const decided = current.redecider.take(record);
      if (decided !== undefined) yield { ...decided, run };
    }
  } finally {
    current?.end();
  }
}

/** One run of a picker, decided again. */
class Run {
  readonly redecider: Redecider;
  /** Of schedulers in other processes; undefined where none is asked. */
  readonly #clock: Clock | undefined;
  readonly #onReplacement: RunOptions['onReplacement'];
  #asked = false;
  /** It has come back whenever it was gone. */
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
    // A module is always there.
    const isThere = (): boolean => this.redecider.replacement()?.connected !== false;
    for (let waitedMs = 0; clock !== undefined && !isThere(); waitedMs += POLL_MS) {
      if (waitedMs >= CONNECT_MS) return false;
      await new Promise<void>((resolve) => clock.setTimer(POLL_MS, resolve));
    }
    return true;
  }
}

function unreachable(report: ReplacementReport | undefined): ConfigError {
  const message = `${report?.name ?? 'it'} does not answer: after ${CONNECT_MS} ms there is no connection; is it running?`;
  return new ConfigError('redecide', [{ path: 'scheduler', message }]);
}
