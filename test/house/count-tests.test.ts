import { describe, expect, it } from 'vitest';
import { closingLine, countTests } from './count-tests.ts';

function report(fields: object): string {
  const none = { numPassedTests: 0, numFailedTests: 0, numPendingTests: 0, numTodoTests: 0 };
  return JSON.stringify({ ...none, testResults: [], ...fields });
}

describe('countTests', () => {
  it('reads the numbers of a vitest report', () => {
    const text = report({ numPassedTests: 7, numPendingTests: 1, numTodoTests: 2 });
    expect(countTests(text)).toEqual({ passed: 7, failed: 0, skipped: 3 });
  });

  it('counts a file that could not be loaded as a failure', () => {
    const testResults = [
      { status: 'failed', assertionResults: [] },
      { status: 'failed', assertionResults: [{ status: 'passed' }] },
      { status: 'failed', assertionResults: [{ status: 'failed' }] },
      { status: 'passed', assertionResults: [{ status: 'passed' }] },
    ];
    const text = report({ numPassedTests: 2, numFailedTests: 1, testResults });
    expect(countTests(text).failed).toBe(3);
  });

  it('refuses a text that is not a report', () => {
    expect(() => countTests('{}')).toThrow();
  });
});

describe('closingLine', () => {
  it('has the number of skipped tests only if there are any', () => {
    expect(closingLine({ passed: 3, failed: 0, skipped: 0 })).toBe('3 passed, 0 failed');
    expect(closingLine({ passed: 3, failed: 1, skipped: 2 })).toBe('3 passed, 1 failed, 2 skipped');
  });
});
