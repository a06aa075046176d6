import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { REPORT_FILE, TEST_LOG_FILE } from './test/house/test-log.ts';
import { TestLogReporter } from './test/house/test-log-reporter.ts';

const long = process.env['POINTSMAN_LONG_TESTS'] === '1';
/** Where `test/run.ts` wants reports. */
const reports = process.env['POINTSMAN_TEST_REPORTS'];

export default defineConfig({
  test: {
    ...(reports !== undefined && {
      reporters: [
        'default',
        ['json', { outputFile: join(reports, REPORT_FILE) }],
        new TestLogReporter(join(reports, TEST_LOG_FILE)),
      ],
    }),
    // `dist` has a compiled copy of every test, which must not run.
    include: ['{src,scorers,stub-server,bench,test}/**/*.test.ts'],
    exclude: long ? [] : ['**/*.long.test.ts'],
    // Tests start servers and processes; each file runs in a separate process, so that leaks stay
    // there.
    pool: 'forks',
    // The machines have two cores, and a test with Envoy uses more than one.
    maxWorkers: 2,
    // Against tests that hang; other work on the machine makes every test several times slower.
    testTimeout: long ? 600_000 : 300_000,
    // The first hook that needs Envoy downloads it.
    hookTimeout: 300_000,
    teardownTimeout: 10_000,
  },
});
