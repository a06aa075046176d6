import { expect, it } from 'vitest';
import { expectNoFault } from './faults.ts';
import { readText, sourceFiles } from './source-tree.ts';

/** Comments, each as one line: those of several lines, and lines with nothing but a comment. */
function commentsOf(path: string): readonly string[] {
  const text = readText(path);
  const blocks = [...text.matchAll(/^\s*\/\*\*([\s\S]*?)\*\//gm)].map(([, each = '']) => each);
  const lines = [...text.matchAll(/(?:^\s*\/\/.*\n)+/gm)].map(([each]) => each);
  return [...blocks, ...lines].map((each) =>
    each
      .replaceAll(/^\s*(?:\*|\/\/)/gm, '')
      .replaceAll(/\s+/g, ' ')
      .trim(),
  );
}

it('[T15] begins no sentence of a comment with what only the line above explains', () => {
  const riddle = /(?:^|[.;:] )(?:Of|That of|Those of) .{0,40}/;
  const all = sourceFiles()
    .filter((path) => !path.endsWith('.test.ts') && !path.startsWith('test/'))
    .flatMap((path) =>
      commentsOf(path).map((comment) => ({ path, found: riddle.exec(comment)?.[0], comment })),
    );
  expect(all.length).toBeGreaterThan(4000);
  expectNoFault(
    all.flatMap(({ path, found }) => (found === undefined ? [] : [`${path}: ${found}`])),
    'begin the sentence with what it is about',
  );
});

it('[T20] says in each comment what it is about, without the comment above', () => {
  const borrowed =
    /^(?:The same(?:[,.:]| (?:as|at|behind|by|for|in|of|per|where|while|with|without)\b)|Those (?:that|which)\b).{0,40}/;
  const wrong = sourceFiles()
    .filter((path) => !path.endsWith('.test.ts') && !path.startsWith('test/'))
    .flatMap((path) => commentsOf(path).map((comment) => ({ path, found: borrowed.exec(comment) })))
    .flatMap(({ path, found }) => (found === null ? [] : [`${path}: ${found[0]}`]));
  expectNoFault(wrong, 'say what it is the same as, or name what is meant');
});

it('[T30] begins each comment with a subject of its own', () => {
  const joined =
    /^(?:As (?:`|in `|of now|with `)|Only for\b|Or\b|And\b|Else\b|Not yet\b|Such as (?!`)|Also\b|Unless\b|Who (?!may\b)|Whose\b|For good\b|More than a\b).{0,40}/;
  const wrong = sourceFiles()
    .filter((path) => !path.endsWith('.test.ts') && !path.startsWith('test/'))
    .flatMap((path) => commentsOf(path).map((comment) => ({ path, found: joined.exec(comment) })))
    .flatMap(({ path, found }) => (found === null ? [] : [`${path}: ${found[0]}`]));
  expect(wrong, 'give each a subject: “See `x`.” or “It …” in place of “As `x`”').toEqual([]);
});
