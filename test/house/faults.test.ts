import { expect, it } from 'vitest';
import {
  cycleFault,
  expectNoFault,
  expectSameNames,
  fullFolderFault,
  longFileFault,
  roomFault,
  ruleFaults,
  twoExportsFault,
} from './faults.ts';

it('[T55] says of an import which rooms it joins, and what to do instead', () => {
  const found = { path: 'src/flow/a.ts', target: 'src/serve/b.ts' };
  expect(roomFault(found, 'src/flow', 'src/serve')).toBe(
    'src/flow/a.ts imports src/serve/b.ts, and src/flow may not import src/serve (table in ' +
      'docs/folders.md): pass what it needs as an argument, or move one of the two files',
  );
});

it('[T55] says of a cycle which imports make it, the rarest first', () => {
  const back = [{ path: 'b/z.ts', target: 'a/x.ts' }];
  const forth = ['p', 'q', 'r', 's', 't', 'u'].map((name) => ({
    path: `a/${name}.ts`,
    target: 'b/y.ts',
  }));
  expect(cycleFault(['a', 'b'], [forth, back])).toBe(
    'a, b import each other:\n' +
      '  b/z.ts imports a/x.ts\n' +
      '  a/p.ts imports b/y.ts\n' +
      '  a/q.ts imports b/y.ts\n' +
      '  a/r.ts imports b/y.ts\n' +
      '  a/s.ts imports b/y.ts\n' +
      '  and 2 more imports\n' +
      '  take such an import away: pass what it needs as an argument, or move what both need into a ' +
      'file that imports neither',
  );
});

it('[T55] says what to do with each name that a table lacks, has twice, or has without need', () => {
  const place = 'the table of colours in docs/a.md';
  expect(() => expectSameNames(['red', 'blue'], ['blue', 'red'], place)).not.toThrow();
  expect(() => expectSameNames(['red', 'grey', 'red'], ['blue', 'red'], place)).toThrow(
    'add blue to the table of colours in docs/a.md\n' +
      'take grey out of the table of colours in docs/a.md: the code has none of this name\n' +
      'the table of colours in docs/a.md has red twice: take one away',
  );
});

it('[T55] fails with every fault in the message, and with what to do', () => {
  expect(() => expectNoFault([])).not.toThrow();
  expect(() => expectNoFault(['a.ts', 'b.ts'], 'rename these')).toThrow(
    'rename these:\na.ts\nb.ts',
  );
});

it('[T55] says of a full folder what to move, and where to say so', () => {
  expect(fullFolderFault('src/a', 26, 25)).toBe(
    'src/a has 26 files beside tests, and 25 are allowed: move files with one purpose into a ' +
      'folder of their own, with a row in docs/folders.md',
  );
});

it('[T55] says of a long file by what to cut it', () => {
  expect(longFileFault('src/a.ts', 301, 300)).toBe(
    'src/a.ts has 301 lines, and 300 are allowed: cut it into two by what its parts do',
  );
  expect(longFileFault('src/a.test.ts', 301, 300)).toContain('by what the tests claim');
});

it('[T55] says of a name that two files export where both are', () => {
  expect(twoExportsFault('Peer', ['src/a.ts', 'src/b.ts'])).toBe(
    'src/a.ts and src/b.ts export Peer: give each of them a name that says which it is',
  );
});

const tests = (...ids: readonly string[]): ReadonlyMap<string, readonly string[]> =>
  new Map(ids.map((id) => [id, [`${id}.test.ts`]]));

it('[T55] says of a rule what it lacks, and which id is free', () => {
  expect(ruleFaults(['V1', 'V9', 'T3'], tests('V1', 'V9', 'T3'))).toEqual([]);
  expect(ruleFaults(['V1', 'V9'], tests('V1'))).toEqual([
    'no test names V9 of SPEC.md: write [V9] into the name of its test',
  ]);
  expect(ruleFaults(['V9', 'T3', 'V9'], tests('V9', 'T3'))).toEqual([
    'SPEC.md has V9 twice: give one of the two another id; the next free id of its series is V10',
  ]);
  expect(ruleFaults(['V9'], tests('V9', 'V12'))).toEqual([
    'V12.test.ts name V12, which SPEC.md does not have: write the rule there as "- **V12** …", ' +
      'or name one that it has; the next free id of its series is V13',
  ]);
});
