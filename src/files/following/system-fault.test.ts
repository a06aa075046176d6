import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { expect, it } from 'vitest';
import { isSystemFault } from './system-fault.ts';

function errorOf(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  throw new Error('it did not throw');
}

it('[V553] a file that cannot be read is a fault of the system, and what is wrong in it is not', () => {
  const unread = errorOf(() => readFileSync('/nowhere/at/all'));
  expect(isSystemFault(unread)).toBe(true);
  expect(isSystemFault(new Error('the endpoints file', { cause: unread }))).toBe(true);
  expect(isSystemFault(errorOf(() => createSecureContext({ cert: 'x', key: 'y' })))).toBe(false);
  expect(isSystemFault(errorOf(() => JSON.parse('{')))).toBe(false);
  expect(isSystemFault('no error')).toBe(false);
});
