import { expect, it } from 'vitest';
import { programsFirst } from './programs-first.ts';

it('[T109] starts files with a process of their own first, then those that start programs, then those beside the code', () => {
  const given = [
    { path: 'src/flow/order.test.ts', hasOwnProcess: false },
    { path: 'test/envoy/envoy.test.ts', hasOwnProcess: false },
    { path: 'scorers/queue.test.ts', hasOwnProcess: false },
    { path: 'test/docs/docs.test.ts', hasOwnProcess: false },
    { path: 'src/sidecar/bounds.test.ts', hasOwnProcess: true },
  ];
  expect(programsFirst(given, (file) => file).map(({ path }) => path)).toEqual([
    'src/sidecar/bounds.test.ts',
    'test/envoy/envoy.test.ts',
    'test/docs/docs.test.ts',
    'src/flow/order.test.ts',
    'scorers/queue.test.ts',
  ]);
});
