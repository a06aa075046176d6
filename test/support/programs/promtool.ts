import { execFile, spawn } from 'node:child_process';
import { access, constants, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder, makeCacheFolder } from '../../../src/files/writing/cache-folder.ts';

const run = promisify(execFile);
const FETCH_TIMEOUT_MS = 180_000;

/**
 * Path of promtool, which checks metric pages: the one on PATH, else the one of the Debian package,
 * downloaded once into the user's cache folder. Undefined if there is neither.
 */
export function fetchPromtool(): Promise<string | undefined> {
  return fetchBinary('promtool');
}

/** Path of Prometheus itself, from the same places. */
export function fetchPrometheus(): Promise<string | undefined> {
  return fetchBinary('prometheus');
}

async function fetchBinary(name: 'promtool' | 'prometheus'): Promise<string | undefined> {
  const folder = join(cacheFolder(), 'promtool');
  const binary = join(folder, 'usr/bin', name);
  try {
    if (await answers(name)) return name;
    makeCacheFolder();
    const isThere = await access(binary, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (!isThere) await install(folder);
    return binary;
  } catch {
    return undefined;
  }
}

/** The complaints of promtool about a page; empty if it has none. */
export function checkMetrics(promtool: string, page: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(promtool, ['check', 'metrics'], { stdio: ['pipe', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        output += chunk.toString('utf8');
      });
    }
    child.once('error', reject);
    child.once('close', () => resolve(output.trim()));
    child.stdin.end(page);
  });
}

async function answers(command: string): Promise<boolean> {
  try {
    await run(command, ['--version'], { timeout: FETCH_TIMEOUT_MS });
    return true;
  } catch {
    return false;
  }
}

/** Unpacks beside the final folder and renames, so that an existing folder is always complete. */
async function install(folder: string): Promise<void> {
  process.stderr.write('fetching promtool (Debian package prometheus, 19 MB)\n');
  const work = await mkdtemp(`${folder}.installing-`);
  try {
    const options = { cwd: work, timeout: FETCH_TIMEOUT_MS };
    await run('apt-get', ['download', 'prometheus'], options);
    const [archive = ''] = (await readdir(work)).filter((name) => name.endsWith('.deb'));
    await run('dpkg', ['-x', archive, 'unpacked'], options);
    await rename(join(work, 'unpacked'), folder);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
