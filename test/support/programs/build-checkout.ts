import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..', '..', '..');

/** Builds a checkout as `npm run build` does, by the tools of this one. */
export function buildCheckout(checkout: string): void {
  const packages = join(root, 'node_modules');
  const options = { cwd: checkout, stdio: 'inherit' } as const;
  const run = (tool: string, args: readonly string[]): void =>
    void execFileSync(process.execPath, [join(packages, tool), ...args], options);
  run('typescript/bin/tsc', ['-p', 'tsconfig.build.json']);
  run('rolldown/bin/cli.mjs', ['--config', 'rolldown.config.js']);
}
