import type { Registry } from 'prom-client';
import type { ConfigFile } from '../../catalogue/plan.ts';
import { oneAtATime } from '../../files/following/one-at-a-time.ts';
import { isSystemFault } from '../../files/following/system-fault.ts';
import { watchFile } from '../../files/following/watch-file.ts';
import { messageOf } from '../../framework/error.ts';
import type { Clock } from '../../framework/runtime.ts';
import type { Reloads } from '../../journal/metrics/process/reloads.ts';
import type { PickerPlan } from '../../picker/plan/picker-plan.ts';
import { sameParameters } from '../../picker/plan/same-parameters.ts';
import type { Log } from '../../runtime/log/log.ts';
import { logWarnings } from './log-start.ts';
import { registerReloads } from './reload-metrics.ts';

export interface ConfigReloadOptions {
  readonly file: ConfigFile;
  /** The plan that decides now. */
  readonly plan: PickerPlan;
  /** Lets another plan decide. When it throws, nothing has changed. */
  readonly adopt: (plan: PickerPlan) => void;
  readonly registry: Registry;
  readonly clock: Clock;
  readonly log: Log;
}

export interface ConfigReload {
  /** Resolves when the file is watched. */
  readonly ready: Promise<void>;
  /** Why the current content of the file was refused; undefined while it decides. */
  lastError(): string | undefined;
  stop(): Promise<void>;
}

/**
 * Follows a configuration file: a valid change decides from then on; an invalid one is refused and
 * logged while the last valid one continues to decide.
 */
export function startConfigReload(options: ConfigReloadOptions): ConfigReload {
  const { log, file } = options;
  const { path } = file;
  const followed = new FollowedConfig(options);
  const watch = watchFile(path, {
    onChange: oneAtATime(() => followed.changed()),
    onError: (error) =>
      log.warn(
        { path, error: messageOf(error) },
        'the configuration file cannot be watched; it is looked at once a second',
      ),
  });
  return {
    ready: watch.ready,
    lastError: () => followed.lastError,
    stop: () => {
      followed.stop();
      return watch.stop();
    },
  };
}

interface ReadConfig {
  readonly text: string;
  readonly plan: PickerPlan;
}

/** The content of the file that decides, and the attempts to replace it. */
class FollowedConfig {
  readonly #options: ConfigReloadOptions;
  readonly #reloads: Reloads;
  /** The plan that decides. */
  #plan: PickerPlan;
  /** Its text; undefined until the file is read here for the first time. */
  #text: string | undefined;
  #adoptedAtMs = 0;
  #isStopped = false;

  constructor(options: ConfigReloadOptions) {
    this.#options = options;
    this.#plan = options.plan;
    this.#reloads = registerReloads(options.registry, () => this.#adoptedAtMs);
  }

  get lastError(): string | undefined {
    return this.#reloads.lastError;
  }

  async changed(): Promise<'again' | 'done'> {
    const { file, log } = this.#options;
    const [read] = await Promise.allSettled([this.#read()]);
    if (this.#isStopped) return 'done';
    this.#reloads.attempt(
      () => {
        if (read.status === 'rejected') throw read.reason;
        if (read.value !== undefined) this.#take(read.value);
      },
      (error) =>
        log.error(
          { path: file.path, error },
          'configuration refused; the previous one continues to decide',
        ),
    );
    return read.status === 'rejected' && isSystemFault(read.reason) ? 'again' : 'done';
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** Undefined where the text is the one that decides. */
  async #read(): Promise<ReadConfig | undefined> {
    const { file } = this.#options;
    const text = file.read();
    if (text === this.#text && this.lastError === undefined) return undefined;
    if (this.#isEmptySinceStart(text)) return undefined;
    return { text, plan: await file.load(text) };
  }

  /** A file that was empty at the start stands for the default until something is written to it. */
  #isEmptySinceStart(text: string): boolean {
    const isFirst = this.#text === undefined && this.lastError === undefined;
    const wasEmpty = this.#options.plan.notes.some(({ reason }) => reason === 'empty');
    return isFirst && wasEmpty && text.trim() === '';
  }

  #take({ text, plan: next }: ReadConfig): void {
    const { adopt, clock, file, log } = this.#options;
    const { path } = file;
    if (!sameParameters(next.effective, this.#plan.effective)) {
      adopt(next);
      this.#reloads.adopted();
      this.#adoptedAtMs = clock.wallTime();
      logAdopted(next, this.#plan, { path, log });
      this.#plan = next;
    } else if (this.lastError !== undefined) {
      log.info({ path }, 'the configuration file is again the one that decides');
    }
    this.#text = text;
  }
}

function logAdopted(
  next: PickerPlan,
  before: PickerPlan,
  { path, log }: { readonly path: string; readonly log: Log },
): void {
  log.info({ path, plugins: next.plugins.map(({ name }) => name) }, 'configuration adopted');
  logWarnings(log, next.warnings);
  if (sameParameters(next.discovery, before.discovery)) return;
  log.warn({ path }, 'dataLayer.discovery has changed: this takes effect at the next start');
}
