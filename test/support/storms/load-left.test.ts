import { expect, it } from 'vitest';
import { loadLeft } from './load-left.ts';

it('[V134] what a server runs at a time, and keeps in its cache, is learned and not left over', () => {
  expect(loadLeft('a', { requests: 0, contextTokens: 0, runningMax: 1, keptShare: 0.2 })).toEqual(
    [],
  );
  expect(loadLeft('a', { requests: 1, runningMax: 1 })).toEqual(['a requests 1']);
  expect(loadLeft('a', { requests: -0 })).toEqual(['a requests 0']);
});
