import { defineConfig } from 'vitest/config';

const long = process.env['POINTSMAN_LONG_TESTS'] === '1';

export default defineConfig({
  test: {
    // `dist` has a compiled copy of every test, which must not run.
    include: ['{src,scorers,stub-server,bench,test}/**/*.test.ts'],
    exclude: long ? [] : ['**/*.long.test.ts'],
    // Tests start servers and processes; each file runs in a separate process, so that leaks stay
    // there.
    pool: 'forks',
    // The machines have two cores, and a test with Envoy uses more than one.
    maxWorkers: 2,
    testTimeout: long ? 600_000 : 30_000,
    // The first hook that needs Envoy downloads it.
    hookTimeout: 300_000,
    teardownTimeout: 10_000,
  },
});
