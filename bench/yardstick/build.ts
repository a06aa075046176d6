import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { packageFile } from '../../src/files/folders.ts';
import { isExecutable } from '../../src/files/reading/is-executable.ts';
import { cacheFolder, makeCacheFolder } from '../../src/files/writing/cache-folder.ts';

export type BuiltYardstick =
  | { readonly path: string; readonly goVersion: string }
  | { readonly unavailable: string };

const SOURCES = ['main.go', 'go.mod', 'go.sum'];
/** A build takes about 15 s when the modules are downloaded; the rest is for a slow network. */
const BUILD_TIMEOUT_MS = 300_000;
const PROGRESS_MS = 10_000;
const OUTPUT_BYTES_MAX = 1 << 20;

const run = promisify(execFile);

/**
 * Builds the bare Go ext_proc server of this folder once, into the user's cache (`XDG_CACHE_HOME`
 * or `~/.cache`) under a hash of its sources. Never throws: where it cannot be built, `unavailable`
 * has the reason.
 */
export async function buildYardstick(log: (line: string) => void): Promise<BuiltYardstick> {
  const sources = packageFile('bench/yardstick');
  try {
    const { stdout } = await run('go', ['env', 'GOVERSION'], { cwd: sources });
    const goVersion = stdout.trim();
    const folder = join(cacheFolder(), `yardstick-${await hashOf(sources, goVersion)}`);
    const path = join(folder, 'yardstick');
    if (!(await isExecutable(path))) await build({ sources, folder, log });
    return { path, goVersion };
  } catch (error) {
    return { unavailable: reasonOf(error) };
  }
}

async function build(options: {
  readonly sources: string;
  readonly folder: string;
  readonly log: (line: string) => void;
}): Promise<void> {
  const { sources, folder, log } = options;
  log('building the Go yardstick into the cache (once, about half a minute)');
  makeCacheFolder();
  // Built beside the final folder and then renamed, so that two builds at once do no harm.
  const work = await mkdtemp(`${folder}.building-`);
  const startedAt = performance.now();
  const progress = setInterval(() => {
    log(`go build: ${Math.round((performance.now() - startedAt) / 1000)} s`);
  }, PROGRESS_MS);
  try {
    const args = ['build', '-mod=readonly', '-trimpath', '-o', join(work, 'yardstick'), '.'];
    await run('go', args, {
      cwd: sources,
      timeout: BUILD_TIMEOUT_MS,
      maxBuffer: OUTPUT_BYTES_MAX,
    });
    await rename(work, folder).catch(async (error: unknown) => {
      // Another process has finished the same build first.
      if (!(await isExecutable(join(folder, 'yardstick')))) throw error;
    });
  } finally {
    clearInterval(progress);
    await rm(work, { recursive: true, force: true });
  }
}

async function hashOf(sources: string, goVersion: string): Promise<string> {
  const hash = createHash('sha256').update(goVersion);
  for (const name of SOURCES) hash.update(await readFile(join(sources, name)));
  return hash.digest('hex').slice(0, 12);
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if ('code' in error && error.code === 'ENOENT') return 'there is no `go` on PATH';
  const stderr = 'stderr' in error && typeof error.stderr === 'string' ? error.stderr.trim() : '';
  return stderr === '' ? error.message : `go build failed: ${stderr.slice(0, 500)}`;
}
