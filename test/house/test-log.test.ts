import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { countEvents } from './count-tests.ts';
import {
  failureSummary,
  readTestLog,
  TEST_LOG_FILE,
  type TestEvent,
  testNameFault,
} from './test-log.ts';

const folder = mkdtempSync(join(tmpdir(), 'pointsman-test-log-'));
const path = join(folder, TEST_LOG_FILE);

afterEach(() => {
  rmSync(path, { force: true });
});

const EVENTS: readonly TestEvent[] = [
  { event: 'started', name: 'a.test.ts > adds' },
  { event: 'started', name: 'b.test.ts > hangs' },
  { event: 'passed', name: 'a.test.ts > adds' },
  { event: 'started', name: 'a.test.ts > subtracts' },
  { event: 'failed', name: 'a.test.ts > subtracts', error: 'expected 1 to be 2\n\n- 1\n+ 2' },
  { event: 'error', name: 'c.test.ts', error: 'cannot find ./gone.ts' },
];

describe('what a run of tests says at its end', () => {
  it('[V80] names what failed, errors outside tests and what was running when it was stopped', () => {
    expect(failureSummary(EVENTS).split('\n')).toEqual([
      'FAILED a.test.ts > subtracts',
      '    expected 1 to be 2',
      '    - 1',
      '    + 2',
      'ERROR OUTSIDE TESTS c.test.ts',
      '    cannot find ./gone.ts',
      'RUNNING WHEN STOPPED b.test.ts > hangs',
      '',
    ]);
    expect(failureSummary(EVENTS.slice(0, 1).concat(EVENTS.slice(2, 3)))).toBe('');
  });

  it('[V80] counts the tests of a run without a report; those that have not ended have failed', () => {
    expect(countEvents(EVENTS)).toEqual({ passed: 1, failed: 3, skipped: 0 });
  });

  it('[T73] refuses a name that lacks a value of its table', () => {
    expect(testNameFault('top undefined says which port')).toContain('each row of its table');
    expect(testNameFault('reads [object Object]')).toContain('[object Object]');
    const good = ['is read as `undefined`', 'keeps “undefined”', '{ a: undefined } and { b: 1 }'];
    expect(good.map(testNameFault)).toEqual([undefined, undefined, undefined]);
  });

  it('reads the log of a run that was killed while it wrote a line', () => {
    expect(readTestLog(path)).toEqual([]);
    for (const event of EVENTS) appendFileSync(path, `${JSON.stringify(event)}\n`);
    appendFileSync(path, '{"event":"pass');
    expect(readTestLog(path)).toEqual(EVENTS);
  });
});
