import { expect, it } from 'vitest';
import { expectNoFault } from './faults.ts';
import { OWN_PROCESS, sharedFiles } from './shared-process.ts';
import { readText, sourceFiles } from './source-tree.ts';

/** What stays in the process after the test that has done it, also if the test fails. */
const CHANGES_PROCESS =
  /\bvi\s*\.\s*(?:stub\w+|(?:mock|doMock|useFakeTimers)\b|spyOn\(\s*(?:process|console|globalThis|performance|[A-Z]\w*)\b)|\bprocess\s*\.\s*(?:chdir|(?:on|once)\(\s*'(?!exit'|\$\{))|\bprocess\.env\[[^\]]*\]\s*=[^=]|\bglobalThis\s*(?:\.\s*\w+|\[[^\]]*\])\s*=[^=]|\bsetFlagsFromString\s*\(|\bsetGlobalDispatcher\s*\(/;

/** Code in templates, also in those within others, runs in other processes. */
const changesProcess = (text: string): boolean =>
  CHANGES_PROCESS.test(text.replaceAll(/`(?:[^`\\]|\\.)*`/gs, '``'));

/** This file has examples. */
const shared = sharedFiles().filter((path) => !path.startsWith('test/house/shared-process'));

it('[T21] tests that share a process change nothing of it', () => {
  expect(shared.length).toBeGreaterThan(300);
  expectNoFault(
    shared.filter((path) => changesProcess(readText(path))),
    'name these tests in test/house/shared-process.ts, with the reason',
  );
});

it.each([
  "vi.stubEnv('NAMESPACE', '')",
  'vi.spyOn(Http2Stream.prototype, text)',
  "process.on('worker', onWorker)",
  "process.env['HOME'] = folder",
  "globalThis.fetch = () => Promise.reject(new Error('none'))",
  "setFlagsFromString('--expose-gc')",
])('[T21] finds %s', (code) => {
  expect(changesProcess(code)).toBe(true);
});

it('[T21] names only tests that are there', () => {
  const files = sourceFiles();
  expect(Object.keys(OWN_PROCESS).filter((path) => !files.includes(path))).toEqual([]);
});

it('[T74] Node loads the modules of tests as they are, as it does in the picker', () => {
  // Where Vite transforms them, a function that is imported is called by its place in an object.
  expect(String(sharedFiles)).toContain('return globSync(patterns,');
});
