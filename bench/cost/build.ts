import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const BUILD_TIMEOUT_MS = 120_000;

const run = promisify(execFile);

/**
 * Builds a checkout and returns its main file, as an installed package has it: with the sources,
 * Node's removal of types would count for the start and the memory. Throws if it cannot be built.
 */
export async function builtMain(checkout: string): Promise<string> {
  await run('npm', ['run', 'build'], { cwd: checkout, timeout: BUILD_TIMEOUT_MS });
  return join(checkout, 'dist/src/main.js');
}
