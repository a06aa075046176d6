import { Counter, Gauge, type Registry } from 'prom-client';
import type { ConfigFile } from '../catalogue/plan.ts';
import { watchFile } from '../files/watch-file.ts';
import { messageOf } from '../framework/error.ts';
import type { PickerPlan } from '../picker/plan/picker-plan.ts';
import { sameParameters } from '../picker/plan/same-parameters.ts';
import type { Log } from '../runtime/log.ts';

export interface ConfigReloadOptions {
  readonly file: ConfigFile;
  /** The plan that decides now. */
  readonly plan: PickerPlan;
  /** Lets another plan decide. When it throws, nothing has changed. */
  readonly adopt: (plan: PickerPlan) => void;
  readonly registry: Registry;
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
  const { file, adopt, log } = options;
  const { path } = file;
  let { plan } = options;
  let lastText: string | undefined;
  let lastError: string | undefined;
  const reloads = registerReloads(options.registry, () => lastError === undefined);

  function take(): void {
    const text = file.read();
    if (text === lastText && lastError === undefined) return;
    const next = file.load(text);
    if (sameParameters(next.effective, plan.effective)) {
      if (lastError !== undefined)
        log.info({ path }, 'the configuration file is again the one that decides');
    } else {
      adopt(next);
      reloads.inc({ outcome: 'adopted' });
      logAdopted(next, plan, { path, log });
      plan = next;
    }
    lastText = text;
    lastError = undefined;
  }

  const watch = watchFile(path, {
    onChange: () => {
      try {
        take();
      } catch (error) {
        const message = messageOf(error);
        // One change can cause several events.
        if (message === lastError) return;
        lastError = message;
        reloads.inc({ outcome: 'refused' });
        log.error(
          { path, error: message },
          'configuration refused; the previous one continues to decide',
        );
      }
    },
    onError: (error) => log.error({ path, err: error }, 'the configuration file cannot be watched'),
  });
  return { ready: watch.ready, lastError: () => lastError, stop: () => watch.stop() };
}

function logAdopted(
  next: PickerPlan,
  before: PickerPlan,
  { path, log }: { readonly path: string; readonly log: Log },
): void {
  log.info({ path, plugins: next.plugins.map(({ name }) => name) }, 'configuration adopted');
  for (const warning of next.warnings) log.warn({ warning }, 'configuration');
  if (sameParameters(next.discovery, before.discovery)) return;
  log.warn({ path }, 'dataLayer.discovery has changed: this takes effect at the next start');
}

function registerReloads(registry: Registry, isGood: () => boolean): Counter<'outcome'> {
  new Gauge({
    name: 'pointsman_config_last_reload_successful',
    help: 'Whether the current content of the configuration file decides (1) or was refused (0).',
    registers: [registry],
    collect() {
      this.set(isGood() ? 1 : 0);
    },
  });
  const reloads = new Counter({
    name: 'pointsman_config_reloads_total',
    help: 'Changes of the configuration file, adopted or refused.',
    labelNames: ['outcome'],
    registers: [registry],
  });
  for (const outcome of ['adopted', 'refused']) reloads.inc({ outcome }, 0);
  return reloads;
}
