import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type OutputOptions, type RolldownOptions, rolldown } from 'rolldown';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

const ROOT = join(import.meta.dirname, '..', '..');
const CONFIG = join(ROOT, 'rolldown.config.js');

/** Builds one file as the program is built. */
async function built(source: string): Promise<string> {
  const { default: config } = (await import(pathToFileURL(CONFIG).href)) as {
    readonly default: RolldownOptions;
  };
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-build-'));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const input = join(folder, 'part.ts');
  writeFileSync(input, source);
  const bundle = await rolldown({ ...config, input, logLevel: 'silent' });
  const { output } = await bundle.generate(config.output as OutputOptions);
  const files = output.map(({ fileName }) => fileName);
  expect(files).toContain('chunks/LICENSE-zod.txt');
  return output[0].code;
}

async function valueOf(code: string): Promise<unknown> {
  const module = (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as {
    readonly value: unknown;
  };
  return module.value;
}

const SOURCE = [
  '/** λ arrivals, ρ busy. */',
  "const texts = ['…', \"’\", `a${1}−😀`, String('×')];",
  '// − and more',
  "export const value: readonly unknown[] = [...texts, /^[λ−]+$/.test('λ−'), /^😀$/u.test('😀')];",
].join('\n');

/** What is left of these declaration files once the build has taken out those of nobody. */
async function keptTypes(files: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const { keepReachedTypes } = (await import(pathToFileURL(CONFIG).href)) as {
    readonly keepReachedTypes: (folder: string) => void;
  };
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-types-'));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  keepReachedTypes(folder);
  return Object.keys(files).filter((path) => existsSync(join(folder, path)));
}

/** Whether `prepare` builds in a folder, with an npm that only notes that it was asked to. */
function prepareBuilds(folder: string, npmCommand: string): boolean {
  const { scripts } = z
    .object({ scripts: z.object({ prepare: z.string() }) })
    .parse(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')));
  writeFileSync(join(folder, 'npm'), '#!/bin/sh\necho "$@" > asked\n', { mode: 0o755 });
  const PATH = [folder, process.env['PATH']].join(delimiter);
  const env = { ...process.env, PATH, npm_command: npmCommand };
  const { status } = spawnSync('sh', ['-c', scripts.prepare], { cwd: folder, env });
  expect(status).toBe(0);
  return existsSync(join(folder, 'asked'));
}

describe('the build', () => {
  it('[O275] is made by npm ci, and not again when npx links a checkout that is built', () => {
    const empty = mkdtempSync(join(tmpdir(), 'pointsman-prepare-'));
    expect(prepareBuilds(empty, 'exec')).toBe(true);

    const made = mkdtempSync(join(tmpdir(), 'pointsman-prepare-'));
    mkdirSync(join(made, 'dist/src'), { recursive: true });
    writeFileSync(join(made, 'dist/src/launcher.js'), '');
    expect(prepareBuilds(made, 'exec')).toBe(false);
    expect(prepareBuilds(made, 'ci')).toBe(true);
  });

  it('[T108] has the types that those of the library lead to, and no others', async () => {
    const reached = {
      'src/index.d.ts': "export * from './a.ts';\nexport type { B } from '../scorers/b.ts';\n",
      'src/a.d.ts': "import { z } from 'zod';\nexport declare const a: import('./deep/c.ts').C;\n",
      'scorers/b.d.ts': "import type { C } from '../src/deep/c.ts';\nexport type B = C;\n",
      'src/deep/c.d.ts': 'export type C = number;\n',
    };
    const others = { 'src/main.d.ts': "import './a.ts';\n", 'src/deep/d.d.ts': 'export {};\n' };
    expect(await keptTypes({ ...reached, ...others })).toEqual(Object.keys(reached));
  });

  it('[B235] has sources of one byte a character, which say the same', async () => {
    const code = await built(SOURCE);
    expect(/[^\0-\xff]/.exec(code)).toBeNull();
    expect(code).not.toContain('arrivals');
    expect(await valueOf(code)).toEqual(['…', '’', 'a1−😀', '×', true, true]);
  });

  it('[B235] is refused where an escape would change what a source means', async () => {
    await expect(built('export const value = String.raw`−`;')).rejects.toThrow(/String\.raw/);
  });

  it('[B241] has the part of zod that it uses, which reads the schemas of another copy', async () => {
    const code = await built(
      "import { z } from 'zod'; export const value = (given: unknown) => given instanceof z.ZodObject && Object.keys(given.shape);",
    );
    expect(code).not.toMatch(/from "zod"/);
    const fieldsOf = (await valueOf(code)) as (schema: unknown) => unknown;
    expect(fieldsOf(z.strictObject({ tier: z.string() }))).toEqual(['tier']);
    expect(fieldsOf(z.string())).toBe(false);
  });
});
