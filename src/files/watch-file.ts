import { basename, dirname, resolve } from 'node:path';
import { watch } from 'chokidar';

/** A file is read once it has kept its size so long: half a list can be a valid list. */
const QUIET_MS = 60;
const QUIET_POLL_MS = 20;

export interface FileWatch {
  /** Resolves when changes are heard of from then on. */
  readonly ready: Promise<void>;
  stop(): Promise<void>;
}

/**
 * Calls `onChange` when a file may have another content, perhaps several times for one change; and once when it begins, for what
 * has changed until then.
 *
 * It watches the folder, not the file: an atomic replacement is another file under the same name, and a mounted ConfigMap
 * changes by a link `..data` beside it.
 */
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
    awaitWriteFinish: { stabilityThreshold: QUIET_MS, pollInterval: QUIET_POLL_MS },
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
