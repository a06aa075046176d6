import { z } from 'zod';
import { type TestEvent, unendedTests } from './test-log.ts';

export interface TestCounts {
  readonly passed: number;
  readonly failed: number;
  /** Skipped and to-do. */
  readonly skipped: number;
}

const reportSchema = z.object({
  numPassedTests: z.int(),
  numFailedTests: z.int(),
  numPendingTests: z.int(),
  numTodoTests: z.int(),
  testResults: z.array(
    z.object({
      status: z.string(),
      assertionResults: z.array(z.object({ status: z.string() })),
    }),
  ),
});

/**
 * Counts the tests of a vitest JSON report. A file that failed without a failed test, such as one
 * that cannot be imported, counts as one failed test. Throws if the text is not such a report.
 */
export function countTests(report: string): TestCounts {
  const { testResults, ...numbers } = reportSchema.parse(JSON.parse(report));
  const brokenFiles = testResults.filter(
    ({ status, assertionResults }) =>
      status === 'failed' && assertionResults.every((test) => test.status !== 'failed'),
  ).length;
  return {
    passed: numbers.numPassedTests,
    failed: numbers.numFailedTests + brokenFiles,
    skipped: numbers.numPendingTests + numbers.numTodoTests,
  };
}

/** The same of a run that was stopped before its report; tests that have not ended have failed. */
export function countEvents(events: readonly TestEvent[]): TestCounts {
  const count = (...kinds: readonly string[]): number =>
    events.filter(({ event }) => kinds.includes(event)).length;
  return {
    passed: count('passed'),
    failed: count('failed', 'error') + unendedTests(events).length,
    skipped: count('skipped'),
  };
}

/** `N passed, N failed`, and `N skipped` if there are any. */
export function closingLine({ passed, failed, skipped }: TestCounts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}
