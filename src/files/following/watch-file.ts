import { watchFile as pollFile, type Stats, statSync, unwatchFile } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { type FSWatcher, watch } from 'chokidar';

/** A file is read once its size has been stable this long: half a list can be a valid list. */
const STABLE_MS = 60;
const STABLE_POLL_MS = 20;
/** How often it is seen whether the file is still the same one. */
const FILE_POLL_MS = 1000;

interface FileWatch {
  /** Resolves when every later change will be reported. */
  readonly ready: Promise<void>;
  stop(): Promise<void>;
}

interface WatchCallbacks {
  readonly onChange: () => void;
  /** The first reason why changes are found only by looking at the file once a second. */
  readonly onError: (error: unknown) => void;
}

/**
 * Watches the folder: an atomic replacement is another file, a ConfigMap changes by a link. What
 * the folder does not report is found within a second: a change of the file that a link in it leads
 * to, one where nothing can be watched, such as on some network file systems or past the system's
 * limit of watches, and a folder that is removed or renamed, and made again.
 */
export function watchFile(path: string, callbacks: WatchCallbacks): FileWatch {
  const file = resolve(path);
  const folder = dirname(file);
  let watched = identityOf(statOf(folder));
  const first = watchFolder(file, callbacks);
  let watcher = first.watcher;
  const watchSameFolder = (): void => {
    const found = identityOf(statOf(folder));
    if (found === watched) return;
    watched = found;
    if (found === undefined) return;
    void watcher.close();
    watcher = watchFolder(file, callbacks).watcher;
  };
  const poll = pollStable(file, () => {
    watchSameFolder();
    callbacks.onChange();
  });
  const stop = (): Promise<void> => {
    poll.stop();
    return watcher.close();
  };
  return { ready: first.ready, stop };
}

/** Calls `onChange` once the file that is at `path`, or none, is another one and stays as it is. */
function pollStable(path: string, onChange: () => void): { stop(): void } {
  let timer: NodeJS.Timeout | undefined;
  const afterChange = ({ size, mtimeMs }: Pick<Stats, 'size' | 'mtimeMs'>): void => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      const now = statOf(path) ?? NO_FILE;
      if (now.size === size && now.mtimeMs === mtimeMs) onChange();
      else afterChange(now);
    }, STABLE_MS).unref();
  };
  const onPoll = (now: Stats): void => afterChange(now);
  pollFile(path, { interval: FILE_POLL_MS, persistent: false }, onPoll);
  return {
    stop: () => {
      unwatchFile(path, onPoll);
      clearTimeout(timer);
    },
  };
}

/** What a poll says where there is no file. */
const NO_FILE = { size: 0, mtimeMs: 0 };

/** Undefined also where it may not be looked at. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
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
  // One reason, such as the system's limit of watches, concerns the folder and each file in it.
  let isSaid = false;
  watcher.on('error', (error) => {
    if (!isSaid) onError(error);
    isSaid = true;
  });
  const ready = new Promise<void>((resolved) => {
    watcher.once('ready', () => {
      onChange();
      resolved();
    });
  });
  return { watcher, ready };
}
