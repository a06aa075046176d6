import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { packageFile } from '../../files/package-file.ts';
import { readMooncakeTrace } from './mooncake-trace.ts';

const GOOD = '{"timestamp": 5, "input_length": 513, "output_length": 2, "hash_ids": [0, 1]}';

describe('readMooncakeTrace', () => {
  it('reads rows and skips empty lines', () => {
    expect(readMooncakeTrace(`${GOOD}\n\n`, 't')).toEqual([
      { timestampMs: 5, inputTokens: 513, outputTokens: 2, hashIds: [0, 1] },
    ]);
  });

  it.each([
    ['{', 't:2: not JSON'],
    ['{"timestamp": 9}', 't:2: input_length'],
    [GOOD.replace('[0, 1]', '[0]'), 't:2: hash_ids has 1 ids, and 513 tokens are 2 blocks of 512'],
    [GOOD.replace('5,', '4,'), 't:2: timestamp 4 is before the line above, 5'],
  ])('names the line that is wrong: %s', (line, message) => {
    expect(() => readMooncakeTrace(`${GOOD}\n${line}\n`, 't')).toThrow(message);
  });

  it('reads every row of the slice that ships', () => {
    const path = 'bench/traces/mooncake-conversation-5min.jsonl';
    const rows = readMooncakeTrace(readFileSync(packageFile(path), 'utf8'), path);
    expect(rows.length).toBeGreaterThan(900);
    expect(rows.length).toBeLessThanOrEqual(1000);
    expect(rows.at(-1)?.timestampMs).toBeLessThan(300_000);
  });
});
