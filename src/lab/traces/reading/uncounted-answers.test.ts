import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { readTrace } from './read-trace.ts';

const folder = mkdtempSync(join(tmpdir(), 'pointsman-uncounted-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** A capture in which requests with these limits have ended, and no server has counted a token. */
function uncounted(...limits: readonly (number | undefined)[]) {
  const head = { e: 'capture', version: 3, seed: 1, config: {}, wallMs: 1000, t: 0, file: 0 };
  const request = { id: 'r', model: 'm', streaming: true, promptTokens: 64, blockTokens: 64 };
  const records = limits.flatMap((outputTokensMax, n) => [
    { e: 'q', t: n, n, r: { ...request, blocks: [], outputTokensMax }, d: { endpoint: 'a' } },
    { e: 'done', t: 100 + n, n, o: 'completed' },
  ]);
  const path = join(folder, `${limits.length}.jsonl`);
  writeFileSync(path, [head, ...records].map((each) => `${JSON.stringify(each)}\n`).join(''));
  const { requests, notes } = readTrace(path, { lenient: false });
  return { lengths: requests.map(({ outputTokens }) => outputTokens), notes };
}

it('[G265] answers of which none is counted are as long as their clients allow', () => {
  expect(uncounted(90, undefined)).toEqual({
    lengths: [90, 90],
    notes: [
      '2 answers whose tokens no server reported: taken as long as their clients allow, where these say it',
      '1 answer of unknown length: taken as 90 tokens, the median',
    ],
  });
});

it('[G265] it is said that no length is known where clients allow any', () => {
  const { lengths, notes } = uncounted(undefined);
  expect(lengths).toEqual([256]);
  expect(notes.at(-1)).toBe(
    '1 answer of unknown length: taken as 256 tokens, because none is known',
  );
});
