import { Counter, Gauge, type Registry } from 'prom-client';
import type { ConfigFile } from '../catalogue/plan.ts';
import { watchFile } from '../files/watch-file.ts';
import type { PickerPlan } from '../picker/plan/picker-plan.ts';
import { sameParameters } from '../picker/plan/same-parameters.ts';
import type { Log } from '../runtime/log.ts';

export interface ConfigReloadOptions {
  readonly file: ConfigFile;
  /** What decides now. */
  readonly plan: PickerPlan;
  /** Lets another decide. When it throws, nothing has changed. */
  readonly adopt: (plan: PickerPlan) => void;
  readonly registry: Registry;
  readonly log: Log;
}

export interface ConfigReload {
  /** Resolves when changes are heard of from then on. */
  readonly ready: Promise<void>;
  /** Why the file as it is now was refused; undefined while it is what decides. */
  lastError(): string | undefined;
  stop(): Promise<void>;
}

/** Follows a configuration's file: a valid one decides from then on, a broken one is refused and told of while the old goes on. */
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
      if (lastError !== undefined) log.info({ path }, 'the configuration is as it decides again');
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
        const message = error instanceof Error ? error.message : String(error);
        // One change makes several events.
        if (message === lastError) return;
        lastError = message;
        reloads.inc({ outcome: 'refused' });
        log.error({ path, error: message }, 'configuration refused, the old one goes on');
      }
    },
    onError: (error) => log.error({ path, err: error }, 'configuration not watched'),
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
  log.warn(
    { path },
    'dataLayer.discovery changes only at the next start: endpoints still come from where they came from',
  );
}

function registerReloads(registry: Registry, isGood: () => boolean): Counter<'outcome'> {
  new Gauge({
    name: 'pointsman_config_last_reload_successful',
    help: 'Whether the configuration file as it is now is what decides.',
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
