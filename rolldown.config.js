import { defineConfig } from 'rolldown';

/** Where the program, the library and its threads begin, in `dist` and in the sources. */
const ENTRIES = [
  'src/main',
  'src/index',
  'src/launcher',
  'src/io-workers/io-worker',
  'src/lab/shadow/shadow-worker',
  'src/lab/simulate/worker',
];

/**
 * Few files in place of 1,300, because finding, reading and linking each takes Node a third of the
 * start. Packages stay outside: plugins get the same copy of them, and their licenses stay with them.
 */
export default defineConfig({
  input: Object.fromEntries(ENTRIES.map((name) => [name, `./${name}.ts`])),
  platform: 'node',
  logLevel: 'warn',
  external: (id) => !/^[./]/.test(id),
  output: { dir: 'dist', entryFileNames: '[name].js', chunkFileNames: 'chunks/[name].js' },
});
