import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeCacheFolder } from './cache-folder.ts';

/** Receives lines of progress. */
export type ProgressLog = (line: string) => void;

const LOCK_POLL_MS = 250;

export interface Installation {
  /** The name in messages, such as `Envoy`. */
  readonly what: string;
  /** Where it is in the end. */
  readonly folder: string;
  /** Whether the folder holds it. */
  readonly isInstalled: () => Promise<boolean>;
  /** Puts its files into `out`; `work` is for anything else and is removed. */
  readonly install: (out: string, work: string) => Promise<void>;
  readonly log: ProgressLog;
}

/**
 * Installs something unless it is there. One process at a time installs, and the others wait. The
 * files get to their folder by renaming, so that the folder is complete once it exists. Returns
 * whether this process has installed it; rejects with the error of `install`.
 */
export async function installOnce(installation: Installation): Promise<boolean> {
  const { folder, isInstalled } = installation;
  if (await isInstalled()) return false;
  makeCacheFolder(dirname(folder));
  return withLock(installation, async () => {
    if (await isInstalled()) return false;
    await fill(installation);
    return true;
  });
}

async function fill({ folder, install }: Installation): Promise<void> {
  const work = await mkdtemp(`${folder}.installing-`);
  try {
    const out = join(work, 'out');
    await mkdir(out);
    await install(out, work);
    await rm(folder, { recursive: true, force: true });
    await rename(out, folder);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function withLock<T>(
  { folder, what, log }: Installation,
  work: () => Promise<T>,
): Promise<T> {
  const path = `${folder}.lock`;
  let waited = false;
  while (!(await takeLock(path))) {
    if (!waited) log(`another process is installing ${what}; waiting for it`);
    waited = true;
    await sleep(LOCK_POLL_MS);
  }
  try {
    return await work();
  } finally {
    await rm(path, { force: true });
  }
}

async function takeLock(path: string): Promise<boolean> {
  try {
    await writeFile(path, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
  const holder = Number(await readFile(path, 'utf8').catch(() => ''));
  // The file is empty for a moment, between its creation and its writing.
  if (holder > 0 && !isAlive(holder)) await rm(path, { force: true });
  return false;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as { readonly code?: string }).code;
}
