import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { ProgramsFirst } from './test/house/programs-first.ts';
import { sharedFiles } from './test/house/shared-process.ts';
import { REPORT_FILE, TEST_LOG_FILE } from './test/house/test-log.ts';
import { TestLogReporter } from './test/house/test-log-reporter.ts';

const long = process.env['POINTSMAN_LONG_TESTS'] === '1';
/** Where `test/run.ts` wants reports. */
const reports = process.env['POINTSMAN_TEST_REPORTS'];
/** Each file is in one of the two projects, because the one has what the other leaves. */
const shared = sharedFiles();

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
    projects: [
      {
        extends: true,
        test: {
          name: 'own',
          include: ['{src,scorers,stub-server,bench,test}/**/*.test.ts'],
          exclude: [...shared, ...(long ? [] : ['**/*.long.test.ts'])],
        },
      },
      { extends: true, test: { name: 'shared', include: shared, isolate: false } },
    ],
    // Node loads the modules as it does in the picker: of 101 files, the transformation of Vite took a
    // sixth of the CPU. No test has `vi.mock`, for which Vitest would transform files all the same.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // Tests start servers and programs, and what they leave behind ends with their process.
    pool: 'forks',
    // The machines have two cores, and a test with Envoy uses more than one; but many wait for other
    // processes. A whole run takes 608 s with two, and 487 s with three.
    maxWorkers: 3,
    sequence: { sequencer: ProgramsFirst },
    // Against tests that hang; other work on the machine makes every test several times slower.
    testTimeout: long ? 600_000 : 300_000,
    // The first hook that needs Envoy downloads it.
    hookTimeout: 300_000,
    teardownTimeout: 10_000,
  },
});
