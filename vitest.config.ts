import { defineConfig } from 'vitest/config';

const long = process.env['POINTSMAN_LONG_TESTS'] === '1';

export default defineConfig({
  test: {
    // Named, because `dist` has a compiled copy of every test.
    include: ['{src,scorers,stub-server,bench,test}/**/*.test.ts'],
    exclude: long ? [] : ['**/*.long.test.ts'],
    // Tests start servers and processes; a process for each file keeps what one leaks from the next.
    pool: 'forks',
    // Such machines have two cores, and an Envoy test already keeps one busy.
    maxWorkers: 2,
    testTimeout: long ? 600_000 : 30_000,
    // The first hook to want Envoy downloads it.
    hookTimeout: 300_000,
    teardownTimeout: 10_000,
  },
});
