import type { Clock, Millis, Timer } from '../../framework/runtime.ts';
import type { Log } from '../log/log.ts';

interface FilesWatchdogOptions {
  /** Whether one file more can be opened now. */
  readonly canOpen: () => boolean;
  /** Called at each look that finds none, to free what can be. */
  readonly onNone?: (() => void) | undefined;
  readonly clock: Clock;
  readonly log: Pick<Log, 'info' | 'warn'>;
}

const LOOK_MS: Millis = 5000;
/** So many looks in succession must find room: at the limit there is room now and then. */
const GOOD_LOOKS = 12;

/**
 * Watches whether files can be opened, which connections are, too: without, new connections are
 * closed unanswered. Logs when that begins and when it is over.
 */
export class FilesWatchdog {
  readonly #options: FilesWatchdogOptions;
  /** Looks that must still find room. 0: it is over. */
  #awaited = 0;
  #timer: Timer;

  constructor(options: FilesWatchdogOptions) {
    this.#options = options;
    this.#timer = options.clock.setTimer(LOOK_MS, () => this.#look());
  }

  /** Why the process is degraded, as a sentence; undefined while files can be opened. */
  trouble(): string | undefined {
    return this.#awaited === 0 ? undefined : 'no further file or connection can be opened';
  }

  stop(): void {
    this.#timer.cancel();
  }

  #look(): void {
    const { canOpen, onNone, clock, log } = this.#options;
    this.#timer = clock.setTimer(LOOK_MS, () => this.#look());
    const before = this.#awaited;
    const finds = canOpen();
    this.#awaited = finds ? Math.max(0, before - 1) : GOOD_LOOKS;
    if (!finds) onNone?.();
    if (before === 0 && this.#awaited > 0)
      log.warn(
        {},
        'no further file or connection can be opened, and new connections are closed unanswered: ' +
          'raise the limit of open files (ulimit -n, LimitNOFILE= of systemd)',
      );
    else if (before > 0 && this.#awaited === 0)
      log.info({}, 'files and connections can be opened again');
  }
}
