import { watchFile as pollFile, type Stats, statSync, unwatchFile } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { type FSWatcher, watch } from 'chokidar';

/** A file is read once its size has been stable this long: half a list can be a valid list. */
const STABLE_MS = 60;
const STABLE_POLL_MS = 20;
/** How often it is seen whether the folder is still the same one. */
const FOLDER_POLL_MS = 1000;

interface FileWatch {
  /** Resolves when every later change will be reported. */
  readonly ready: Promise<void>;
  stop(): Promise<void>;
}

interface WatchCallbacks {
  readonly onChange: () => void;
  readonly onError: (error: unknown) => void;
}

/**
 * Watches the folder: an atomic replacement is another file, a ConfigMap changes by a link. A
 * folder that is removed or renamed, and made again, is another one, which is found after a second.
 */
export function watchFile(path: string, callbacks: WatchCallbacks): FileWatch {
  const file = resolve(path);
  const folder = dirname(file);
  let watched = identityOf(statSync(folder, { throwIfNoEntry: false }));
  const first = watchFolder(file, callbacks);
  let watcher = first.watcher;
  const onFolder = (now: Stats): void => {
    const found = identityOf(now);
    if (found === watched) return;
    watched = found;
    if (found === undefined) return;
    void watcher.close();
    watcher = watchFolder(file, callbacks).watcher;
  };
  pollFile(folder, { interval: FOLDER_POLL_MS, persistent: false }, onFolder);
  const stop = (): Promise<void> => {
    unwatchFile(folder, onFolder);
    return watcher.close();
  };
  return { ready: first.ready, stop };
}

/** A number may be given again at once, but not with the same time of birth. */
function identityOf(stats: Stats | undefined): string | undefined {
  return stats === undefined || stats.ino === 0 ? undefined : `${stats.ino} ${stats.birthtimeMs}`;
}

/** Calls `onChange` also when it has begun to watch. */
function watchFolder(
  file: string,
  { onChange, onError }: WatchCallbacks,
): { readonly watcher: FSWatcher; readonly ready: Promise<void> } {
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
  return { watcher, ready };
}
