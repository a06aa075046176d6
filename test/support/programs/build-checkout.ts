import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..', '..', '..');

/**
 * Builds a checkout as `npm run build` does, by the tools of this one. Prints only what a failed
 * build says.
 */
export function buildCheckout(checkout: string): void {
  const packages = join(root, 'node_modules');
  const run = (tool: string, args: readonly string[]): void => {
    const command = [join(packages, tool), ...args];
    // The compiler is written in Go, whose collector would take a quarter of its CPU.
    const env = { ...process.env, GOGC: '400' };
    const built = spawnSync(process.execPath, command, { cwd: checkout, encoding: 'utf8', env });
    if (built.status === 0) return;
    process.stderr.write(`${built.stdout}${built.stderr}`);
    const end = built.error?.message ?? `exit code ${built.status ?? built.signal}`;
    throw new Error(`cannot build ${checkout}: ${tool} ${args.join(' ')}: ${end}`);
  };
  run('typescript/bin/tsc', ['-p', 'tsconfig.build.json', '--checkers', '2']);
  run('rolldown/bin/cli.mjs', ['--config', 'rolldown.config.js']);
}
