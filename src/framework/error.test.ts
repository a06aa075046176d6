import { expect, it } from 'vitest';
import { ConfigError, RoutingError } from './error.ts';

it('[V250] a refusal takes no stack, and other errors do', () => {
  const before = Error.stackTraceLimit;
  const error = new RoutingError('no-endpoints', 'the pool has no endpoint');
  expect(error.stack).toBe('RoutingError: [no-endpoints] the pool has no endpoint');
  expect(Error.stackTraceLimit).toBe(before);
  expect(new Error('other').stack).toContain('error.test.ts');
});

it('[O243] a file with one fault in each of a thousand entries has a message of few lines, and all issues', () => {
  const issues = Array.from({ length: 1000 }, (_, at) => ({ path: `[${at}]`, message: 'is bad' }));
  const error = new ConfigError('a.yaml', issues);
  const lines = error.message.split('\n');
  expect(lines).toHaveLength(22);
  expect([lines[1], lines[20], lines[21]]).toEqual([
    '  [0]: is bad',
    '  [19]: is bad',
    '  and 980 more',
  ]);
  expect(error.issues).toHaveLength(1000);
});
