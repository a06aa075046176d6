import type { Registry } from 'prom-client';
import type { ConfigFile } from '../../catalogue/plan.ts';
import { oneAtATime } from '../../files/following/one-at-a-time.ts';
import { watchFile } from '../../files/following/watch-file.ts';
import type { Clock } from '../../framework/runtime.ts';
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
  const { file, adopt, clock, log } = options;
  const { path } = file;
  let { plan } = options;
  let lastText: string | undefined;
  let isStopped = false;
  let adoptedAtMs = 0;
  const reloads = registerReloads(options.registry, () => adoptedAtMs);

  /** Undefined where the text is the one that decides. */
  async function read(): Promise<{ readonly text: string; readonly next: PickerPlan } | undefined> {
    const text = file.read();
    if (text === lastText && reloads.lastError === undefined) return undefined;
    return { text, next: await file.load(text) };
  }

  function take(text: string, next: PickerPlan): void {
    if (sameParameters(next.effective, plan.effective)) {
      if (reloads.lastError !== undefined)
        log.info({ path }, 'the configuration file is again the one that decides');
    } else {
      adopt(next);
      reloads.adopted();
      adoptedAtMs = clock.wallTime();
      logAdopted(next, plan, { path, log });
      plan = next;
    }
    lastText = text;
  }

  async function follow(): Promise<void> {
    const [found] = await Promise.allSettled([read()]);
    if (isStopped) return;
    reloads.attempt(
      () => {
        if (found.status === 'rejected') throw found.reason;
        if (found.value !== undefined) take(found.value.text, found.value.next);
      },
      (error) =>
        log.error({ path, error }, 'configuration refused; the previous one continues to decide'),
    );
  }

  const watch = watchFile(path, {
    onChange: oneAtATime(follow),
    onError: (error) => log.error({ path, err: error }, 'the configuration file cannot be watched'),
  });
  const stop = (): Promise<void> => {
    isStopped = true;
    return watch.stop();
  };
  return { ready: watch.ready, lastError: () => reloads.lastError, stop };
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
