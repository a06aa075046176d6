import type { Clock } from '../../../framework/runtime.ts';
import type { Log } from '../../../runtime/log/log.ts';
import { PacedLines } from '../../../runtime/log/paced-lines.ts';
import type { FollowedName } from './follow-name.ts';

/** Addresses of a name that a line shows. */
const SHOWN_MAX = 10;

interface NameLogOptions {
  readonly log: Pick<Log, 'info' | 'warn'>;
  readonly clock: Clock;
  readonly stateOf: (name: string) => FollowedName | undefined;
}

/** Logs when a host name cannot be resolved, gets other addresses, or is resolved again. */
export class NameLog {
  readonly #options: NameLogOptions;
  readonly #lines: PacedLines<string>;
  /** What the log has last, by name. */
  readonly #logged = new Map<string, FollowedName>();

  constructor(options: NameLogOptions) {
    this.#options = options;
    this.#lines = new PacedLines({
      clock: options.clock,
      write: (name) => this.#write(name),
      onMore: (names) =>
        options.log.warn({ names }, 'more host names have changed; their lines follow later'),
    });
  }

  changed(name: string): void {
    this.#lines.changed(name);
  }

  stop(): void {
    this.#lines.stop();
  }

  #write(name: string): boolean {
    const { log, stateOf } = this.#options;
    const now = stateOf(name);
    const before = this.#logged.get(name);
    if (now === undefined) {
      this.#logged.delete(name);
      return false;
    }
    const { error, addresses } = now;
    if (before !== undefined && error === before.error && sameAs(before, now)) return false;
    this.#logged.set(name, now);
    const fields = { name, addresses: addresses.slice(0, SHOWN_MAX), count: addresses.length };
    const message = messageOf(now, before);
    if (error === undefined) log.info(fields, message);
    else log.warn({ ...fields, error }, message);
    return true;
  }
}

function sameAs(a: FollowedName, b: FollowedName): boolean {
  return a.addresses.join() === b.addresses.join();
}

function messageOf({ error, addresses }: FollowedName, before: FollowedName | undefined): string {
  if (error === undefined) return 'a host name is resolved';
  if (addresses.length > 0) return 'a host name cannot be resolved; its last addresses stay';
  return before === undefined || before.addresses.length === 0
    ? 'a host name cannot be resolved'
    : 'the addresses of a host name are too old; they are not used';
}
