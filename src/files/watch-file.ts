import { basename, dirname, resolve } from 'node:path';
import { watch } from 'chokidar';

/** A file is read once its size has been stable this long: half a list can be a valid list. */
const STABLE_MS = 60;
const STABLE_POLL_MS = 20;

interface FileWatch {
  /** Resolves when every later change will be reported. */
  readonly ready: Promise<void>;
  stop(): Promise<void>;
}

/** Watches the folder: an atomic replacement is another file, a ConfigMap changes by a link. */
export function watchFile(
  path: string,
  {
    onChange,
    onError,
  }: { readonly onChange: () => void; readonly onError: (error: unknown) => void },
): FileWatch {
  const file = resolve(path);
  const folder = dirname(file);
  const concerns = (changed: string): boolean =>
    basename(changed) === basename(file) || basename(changed).startsWith('..');
  const watcher = watch(folder, {
    depth: 0,
    ignoreInitial: true,
    ignored: (each) => resolve(each) !== folder && !concerns(each),
    awaitWriteFinish: { stabilityThreshold: STABLE_MS, pollInterval: STABLE_POLL_MS },
  });
  watcher.on('all', (_event, changed) => {
    if (concerns(changed)) onChange();
  });
  watcher.on('error', onError);
  const ready = new Promise<void>((resolved) => {
    watcher.once('ready', () => {
      onChange();
      resolved();
    });
  });
  return { ready, stop: () => watcher.close() };
}
