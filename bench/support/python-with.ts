import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder, makeCacheFolder } from '../../src/files/writing/cache-folder.ts';

const run = promisify(execFile);

const INSTALL_MS = 300_000;

/**
 * A Python that has these packages, each named with its version, such as `grpcio==1.85.1`. pip
 * installs them once into the user's cache folder. Rejects with the reason where that fails.
 */
export async function pythonWith(
  packages: readonly string[],
  log: (line: string) => void,
): Promise<string> {
  const folder = join(cacheFolder(), packages.join('-').replaceAll('==', '-'));
  const binary = join(folder, 'bin', 'python');
  if (existsSync(binary)) return binary;
  log(`installing ${packages.join(' and ')} into ${folder} (once)`);
  makeCacheFolder();
  const options = { timeout: INSTALL_MS };
  // Two test files may install at the same time: the first to finish wins. A venv may be moved as
  // long as its python is called by path.
  const made = mkdtempSync(`${folder}.new-`);
  await run('python3', ['-m', 'venv', made], options);
  await run(join(made, 'bin', 'python'), ['-m', 'pip', 'install', '--quiet', ...packages], options);
  try {
    renameSync(made, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
    rmSync(made, { recursive: true });
  }
  return binary;
}
