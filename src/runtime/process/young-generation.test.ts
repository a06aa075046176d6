import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';

/** The median size of the young generation in MB during much work, in a Node of its own. */
function usualSize(flags: readonly string[]): number {
  const source = join(import.meta.dirname, 'young-generation.ts');
  const program = `
    import { getHeapSpaceStatistics } from 'node:v8';
    import { limitYoungGeneration } from ${JSON.stringify(source)};
    limitYoungGeneration(process.execArgv);
    // V8 makes it smaller and larger for moments: no single one counts.
    const sizes = [];
    let living = [];
    for (let round = 0; round < 4000; round++) {
      living.push(new Array(4096).fill(round));
      if (living.length > 1000) living = [];
      const { space_size } = getHeapSpaceStatistics().find((space) => space.space_name === 'new_space');
      sizes.push(space_size / 2 ** 20);
    }
    console.log(sizes.sort((one, other) => one - other)[2000]);
  `;
  const args = [...flags, '--input-type=module', '--eval', program];
  return Number(execFileSync(process.execPath, args, { encoding: 'utf8' }));
}

it('[G7] keeps the young generation small, unless Node was started with another size', () => {
  expect(usualSize([])).toBe(8);
  expect(usualSize(['--max-semi-space-size=2'])).toBe(4);
});

it('[B131] lets the young generation grow again after V8 has made it small', () => {
  const source = join(import.meta.dirname, 'young-generation.ts');
  const program = `
    import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
    import { runInNewContext } from 'node:vm';
    import { limitYoungGeneration } from ${JSON.stringify(source)};
    const megabytes = () =>
      getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space').space_size / 2 ** 20;
    limitYoungGeneration(process.execArgv);
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc');
    const observersRun = () => new Promise((resolve) => setImmediate(resolve));
    collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    await observersRun();
    const small = megabytes();
    // V8 makes it smaller and larger all the time: what it reaches counts, not what it ends with.
    let largest = small;
    let living = [];
    for (let round = 0; round < 4000; round++) {
      living.push(new Array(4096).fill(round));
      if (living.length > 1000) living = [];
      await observersRun();
      largest = Math.max(largest, megabytes());
    }
    console.log(JSON.stringify([small < 8, largest >= 8]));
  `;
  const args = ['--input-type=module', '--eval', program];
  expect(JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }))).toEqual([
    true,
    true,
  ]);
});
