import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CollectionPace } from './collection-pace.ts';

/** Whether the heap may double after each of the collections at these times. */
function afterEach(times: readonly number[], usedShare = 0.1): readonly boolean[] {
  const pace = new CollectionPace();
  return times.map((now) => {
    pace.collected(now, usedShare);
    return pace.doubles;
  });
}

it('[V312] lets the heap double while the whole of it is collected often, and no longer', () => {
  const seconds = [0, 3, 6, 9, 15, 25, 40, 60, 80, 101];
  const expected = [false, false, false, true, true, true, true, true, true, false];
  expect(afterEach(seconds.map((second) => 1000 * second))).toEqual(expected);
});

it('[V312] does not after a start, nor where collections are rare, nor near the limit of the heap', () => {
  expect(afterEach([400, 1400, 1500]).at(-1)).toBe(false);
  expect(afterEach([0, 5000, 10_000, 15_000, 20_000]).at(-1)).toBe(false);
  expect(afterEach([0, 100, 200, 300, 400], 0.3).at(-1)).toBe(false);
});

it('[V312] uses a flag that this V8 has, and may be set while it runs', () => {
  const source = join(import.meta.dirname, 'collection-pace.ts');
  const program = `
    import { setFlagsFromString } from 'node:v8';
    import { runInNewContext } from 'node:vm';
    import { slowCollections } from ${JSON.stringify(source)};
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc');
    const pace = slowCollections([]);
    for (let round = 0; round < 6; round++) {
      collect({ type: 'major', execution: 'sync' });
      await new Promise((resolve) => setImmediate(resolve));
    }
    console.log(pace.doubles);
  `;
  const args = ['--input-type=module', '--eval', program];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  expect([stdout, stderr]).toEqual(['true\n', '']);
});
