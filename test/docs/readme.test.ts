import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { codeBlock, runDocumented } from './doc-code.ts';

const root = dirname(dirname(import.meta.dirname));
const readme = readFileSync(join(root, 'README.md'), 'utf8');

interface Package {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

describe('README.md', () => {
  it('says in its first lines what Pointsman is, in the words that people search for', () => {
    const [first = ''] = readme.split('```');
    for (const word of ['endpoint picker', 'EPP', 'ext_proc', 'llm-d', 'vLLM', 'Envoy']) {
      expect(first).toContain(word);
    }
    expect(first.replaceAll(/\s+/g, ' ')).toContain('Gateway API Inference Extension');
  });

  it('begins with the two commands, before any other', () => {
    const [, commands = ''] = readme.split('```');
    expect(commands).toContain('npm ci && npm run demo');
    expect(commands).toContain('npm ci && npm test');
  });

  it('[O559] starts no picker with TLS behind its Envoy, which has none', () => {
    expect(readme).not.toContain('transport_socket');
    const withTls = [...readme.matchAll(/^npx pointsman serve .*$/gm)]
      .map(([command]) => command)
      .filter((command) => !command.includes('--insecure'));
    expect(withTls).toEqual([]);
  });

  it('has a library example of at most 15 lines with the stated output, for any seed', async () => {
    const code = codeBlock('README.md', 'ts', 'createPicker');
    expect(code.trimEnd().split('\n').length).toBeLessThanOrEqual(15);
    const stated = /\/\/ → (.*)/.exec(code)?.[1];
    expect(stated).toMatch(/^10\.0\.0\.[12]:8000$/);
    const log = vi.spyOn(console, 'log').mockImplementation(() => undefined);
    for (const seed of [1, 2, 3, 4, 5]) {
      await runDocumented(code.replace('seed: 1', `seed: ${seed}`), '.');
    }
    expect(log.mock.calls).toEqual(Array.from({ length: 5 }, () => [stated]));
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
});
