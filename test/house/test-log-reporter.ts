import { appendFileSync } from 'node:fs';
import type { Reporter, TestCase, TestModule, TestSuite } from 'vitest/node';
import { type TestEvent, testNameFault } from './test-log.ts';

interface Failure {
  readonly message: string;
}

/**
 * Writes each start and end of a test to a file at once, so that a run which is stopped, or whose
 * process ends, has still said what failed and what was running.
 */
export class TestLogReporter implements Reporter {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  onTestCaseReady(test: TestCase): void {
    this.#write({ event: 'started', name: nameOf(test) });
    const fault = testNameFault(test.fullName);
    if (fault !== undefined) this.#writeErrors(nameOf(test), [{ message: fault }]);
  }

  onTestCaseResult(test: TestCase): void {
    const { state, errors } = test.result();
    const event = state === 'pending' ? 'skipped' : state;
    this.#write({ event, name: nameOf(test), ...errorOf(errors ?? []) });
  }

  onTestSuiteResult(suite: TestSuite): void {
    this.#writeErrors(nameOf(suite), suite.errors());
  }

  onTestModuleEnd(module: TestModule): void {
    this.#writeErrors(module.relativeModuleId, module.errors());
  }

  onTestRunEnd(_modules: readonly TestModule[], unhandled: readonly Failure[]): void {
    this.#writeErrors('unhandled', unhandled);
  }

  #writeErrors(name: string, errors: readonly Failure[]): void {
    if (errors.length > 0) this.#write({ event: 'error', name, ...errorOf(errors) });
  }

  #write(event: TestEvent): void {
    appendFileSync(this.#path, `${JSON.stringify(event)}\n`);
  }
}

function nameOf(test: TestCase | TestSuite): string {
  return `${test.module.relativeModuleId} > ${test.fullName}`;
}

function errorOf(errors: readonly Failure[]): { readonly error?: string } {
  return errors.length === 0 ? {} : { error: errors.map(({ message }) => message).join('\n') };
}
