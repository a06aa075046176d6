import { readFileSync } from 'node:fs';
import { z } from 'zod';

/** One event of a test run, written by {@link TestLogReporter} when it happens. */
export interface TestEvent {
  /** `error` is an error outside tests: of a file, of a hook, or unhandled. */
  readonly event: 'started' | 'passed' | 'failed' | 'skipped' | 'error';
  /** The file and the names of the suites and the test, joined by ` > `. */
  readonly name: string;
  readonly error?: string | undefined;
}

const EVENTS = ['started', 'passed', 'failed', 'skipped', 'error'] as const;
const eventSchema: z.ZodType<TestEvent> = z.object({
  event: z.enum(EVENTS),
  name: z.string(),
  error: z.string().optional(),
});

/** The names of vitest's JSON report and of this log in the folder of a run's reports. */
export const REPORT_FILE = 'report.json';
export const TEST_LOG_FILE = 'tests.jsonl';

/** Lines of an error's message that are shown. */
const LINES_MAX = 12;

/** Reads what {@link TestLogReporter} has written; skips a last line that was cut. */
export function readTestLog(path: string): readonly TestEvent[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return [];
  }
  return text.split('\n').flatMap((line) => {
    try {
      return [eventSchema.parse(JSON.parse(line))];
    } catch {
      return [];
    }
  });
}

/**
 * Names every failed test, every error outside tests, and the tests that were running when the run
 * was stopped, each with the first lines of its error; empty if nothing of that happened.
 */
export function failureSummary(events: readonly TestEvent[]): string {
  const faults = events
    .filter(({ event }) => event === 'failed' || event === 'error')
    .map(({ event, name, error = '' }) => {
      const title = `${event === 'failed' ? 'FAILED' : 'ERROR OUTSIDE TESTS'} ${name}`;
      const lines = error.split('\n').filter((line) => line.trim() !== '');
      return [title, ...lines.slice(0, LINES_MAX).map((line) => `    ${line}`)].join('\n');
    });
  const stopped = unendedTests(events).map((name) => `RUNNING WHEN STOPPED ${name}`);
  return [...faults, ...stopped].map((fault) => `${fault}\n`).join('');
}

/**
 * What is wrong with the name of a test, where a table gave it no value or an object; a value that
 * a test is about stands in quotes.
 */
export function testNameFault(name: string): string | undefined {
  const found = /(?<![`"'“:] ?)(?:\bundefined\b|\[object \w+\])/.exec(name)?.[0];
  return found === undefined
    ? undefined
    : `its name has ${found}: give each row of its table what the name shows, or write the ` +
        'place of a value that may be undefined in quotes, such as `%s`';
}

/** The names of the tests that have started and not ended. */
export function unendedTests(events: readonly TestEvent[]): readonly string[] {
  const running = new Map<string, number>();
  for (const { event, name } of events) {
    if (event === 'error') continue;
    running.set(name, (running.get(name) ?? 0) + (event === 'started' ? 1 : -1));
  }
  return [...running].filter(([, count]) => count > 0).map(([name]) => name);
}
