import { expect, it } from 'vitest';
import { RoutingError } from './error.ts';

it('[V250] a refusal takes no stack, and other errors do', () => {
  const before = Error.stackTraceLimit;
  const error = new RoutingError('no-endpoints', 'the pool has no endpoint');
  expect(error.stack).toBe('RoutingError: [no-endpoints] the pool has no endpoint');
  expect(Error.stackTraceLimit).toBe(before);
  expect(new Error('other').stack).toContain('error.test.ts');
});
