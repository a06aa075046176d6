import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { codeBlock, runDocumented } from './doc-code.ts';

const root = dirname(import.meta.dirname);
const readme = readFileSync(join(root, 'README.md'), 'utf8');

interface Package {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

describe('README.md', () => {
  it('has a library example of 15 lines that runs and says where the request goes', async () => {
    const code = codeBlock('README.md', 'ts', 'createPicker');
    expect(code.trimEnd().split('\n')).toHaveLength(15);
    const log = vi.spyOn(console, 'log').mockImplementation(() => undefined);
    await runDocumented(code, '.');
    expect(log.mock.calls).toEqual([[expect.stringMatching(/^10\.0\.0\.[12]:8000$/)]]);
    log.mockRestore();
  });

  it('gives a reason for every package the project uses', () => {
    const text = readFileSync(join(root, 'package.json'), 'utf8');
    const { dependencies, devDependencies } = JSON.parse(text) as Package;
    const named = (name: string): boolean => readme.includes(`\`${name}\``);
    const missing = Object.keys({ ...dependencies, ...devDependencies }).filter(
      (name) => !named(name),
    );
    expect(missing).toEqual([]);
  });

  it('links to nothing that is not there', () => {
    const links = [...readme.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, link = '']) => link);
    expect(links.filter((link) => !existsSync(join(root, link)))).toEqual([]);
  });
});
