import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'rolldown';

/** Where the program, the library and its threads begin, in `dist` and in the sources. */
const ENTRIES = [
  'src/main',
  'src/index',
  'src/launcher',
  'src/config/config-thread',
  'src/endpoints/discovery/file/endpoints-thread',
  'src/io-workers/io-worker',
  'src/shadow/shadow-worker',
  'src/lab/simulate/worker',
];

/**
 * V8 keeps the source of each file, and with one character beyond Latin-1 it keeps two bytes for
 * each. Comments are left out, so that such characters are in strings and patterns only, where an
 * escape says the same.
 */
const oneByteSources = {
  name: 'one-byte-sources',
  // Not `renderChunk`: what is printed after it has the characters again.
  generateBundle(_options, bundle) {
    for (const chunk of Object.values(bundle)) {
      if (chunk.type !== 'chunk') continue;
      if (/String\.raw`[^`]*[^\0-\xff]/.test(chunk.code)) {
        this.error('String.raw has a character beyond Latin-1, which no escape stands for there');
      }
      chunk.code = chunk.code.replace(/[^\0-\xff]/g, escaped);
    }
  },
};

function escaped(codeUnit) {
  return `\\u${codeUnit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Its license asks to be where a copy of a part of zod is. */
const licenseOfZod = {
  name: 'license-of-zod',
  generateBundle() {
    const source = readFileSync(new URL('node_modules/zod/LICENSE', import.meta.url));
    this.emitFile({ type: 'asset', fileName: 'chunks/LICENSE-zod.txt', source });
  },
};

/**
 * The compiler writes types of every source, and `exports` of the package leads to those alone that
 * the library's own reach. Deletes the others.
 */
export function keepReachedTypes(folder) {
  const reached = new Set([join(folder, 'src/index.d.ts')]);
  for (const path of reached) {
    const text = readFileSync(path, 'utf8');
    for (const [, to] of text.matchAll(/(?:\bfrom|\bimport\()\s*['"](\.[^'"]+)\.[jt]s['"]/g)) {
      reached.add(join(path, '..', `${to}.d.ts`));
    }
  }
  for (const name of readdirSync(folder, { recursive: true })) {
    const path = join(folder, name);
    if (name.endsWith('.d.ts') && !reached.has(path)) rmSync(path);
  }
}

const reachedTypes = {
  name: 'reached-types',
  writeBundle({ dir }) {
    keepReachedTypes(dir);
  },
};

/**
 * Few files in place of 1,300, because finding, reading and linking each takes Node a third of the
 * start. Packages stay outside, where their licenses are; but of the 95 files of zod, most of which
 * are translations and formats that nothing here uses, the parts that are used go into the build.
 */
export default defineConfig({
  input: Object.fromEntries(ENTRIES.map((name) => [name, `./${name}.ts`])),
  platform: 'node',
  logLevel: 'warn',
  external: (id) => !/^[./]/.test(id) && id !== 'zod',
  plugins: [oneByteSources, licenseOfZod, reachedTypes],
  output: {
    dir: 'dist',
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name].js',
    comments: false,
  },
});
