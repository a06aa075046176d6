import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { pickerMaker } from '../../src/index.ts';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { PROGRAM } from '../support/programs/program.ts';

const root = join(import.meta.dirname, '..', '..');
// Modules in this folder find `zod`, as in a user's project.
const folder = mkdtempSync(join(root, 'node_modules', '.module-'));
afterAll(() => rmSync(folder, { recursive: true }));

function written(name: string, code: string): string {
  const path = join(folder, name);
  writeFileSync(path, code.replace("'pointsman'", `'${join(root, 'src/index.ts')}'`));
  return path;
}

const doc = readFileSync(join(root, 'docs/schedulers.md'), 'utf8');
const example = written('first.mjs', /```ts\n(.*?)```/s.exec(doc)?.[1] ?? '');

interface Checked {
  readonly results: readonly { readonly rule: string; readonly fault?: string }[];
}

async function check(plugin: string, type: string): Promise<Checked['results']> {
  const args = ['scheduler', 'check', type, '--plugin', plugin, '--json'];
  const ran = promisify(execFile)(process.execPath, [PROGRAM, ...args]);
  const { stdout } = await ran.catch((error: unknown) => error as { readonly stdout: string });
  return (JSON.parse(stdout) as Checked).results;
}

describe('a scheduler in a module', () => {
  it('decides, in the form that docs/schedulers.md shows', async () => {
    const createPicker = await pickerMaker([example]);
    const config = `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
scheduler: {type: first-endpoint}
`;
    const picker = createPicker({ config, seed: 1, clock: new SimulatedClock() });
    for (const id of ['a', 'b', 'c']) picker.addEndpoint({ id });
    const request = { model: 'm', promptTokens: 10 };
    const ids = Array.from({ length: 10 }, () => picker.route(request).endpoint.id);
    expect(new Set(ids)).toEqual(new Set(['a']));
    picker.stop();
  });

  it('[C1..C9] is checked by `scheduler check` like one in another process', async () => {
    const results = await check(example, 'first-endpoint');
    expect(results.map(({ rule, fault }) => [rule, fault])).toEqual(
      ['C1', 'C2', 'C3', 'C4', 'C5', 'C6', 'C7', 'C8', 'C9'].map((rule) => [rule, undefined]),
    );
  });

  it('[C3] [C4] [C5] fails the check if it picks remembered endpoints that are not candidates', async () => {
    const sticky = written(
      'sticky.mjs',
      `let first;
export const plugins = {
  schedulers: [
    {
      type: 'sticky',
      config: { parse: (raw) => raw },
      create: () => ({
        schedule(endpoints) {
          first ??= endpoints[0];
          return {
            primary: { kind: 'picked', profile: 'p', targets: [{ endpoint: first, score: 1 }] },
            profiles: [],
            headers: new Map(),
          };
        },
      }),
    },
  ],
};
`,
    );
    const broken = (await check(sticky, 'sticky')).filter(({ fault }) => fault !== undefined);
    expect(broken.map(({ rule }) => rule)).toEqual(expect.arrayContaining(['C3', 'C4', 'C8']));
  });

  const reading = (needs: string): string => `import { prefixMatchKey } from 'pointsman';
const match = prefixMatchKey();
export const plugins = {
  schedulers: [
    {
      type: 'most-cached',
      config: { parse: (raw) => raw },
      ${needs}
      create: () => ({
        schedule(endpoints, context) {
          const held = (endpoint) => context.get(match).matchedBlocks(endpoint);
          const targets = endpoints.map((endpoint) => ({ endpoint, score: held(endpoint) }));
          targets.sort((a, b) => b.score - a.score);
          if (targets.length === 0) return { declined: 'no-endpoint' };
          return {
            primary: { kind: 'picked', profile: 'p', targets: targets.slice(0, 1) },
            profiles: [],
            headers: new Map(),
          };
        },
      }),
    },
  ],
};
`;
  const CONFIG = `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins: [{type: queue-scorer}]
scheduler: {type: most-cached}
`;

  it('[G281] gets the producer of each fact that it names in needs, also in the check', async () => {
    const module = written('most-cached.mjs', reading('needs: () => [match],'));
    const broken = (await check(module, 'most-cached')).filter(({ fault }) => fault !== undefined);
    expect(broken).toEqual([]);
    const createPicker = await pickerMaker([module]);
    const picker = createPicker({ config: CONFIG, seed: 1, clock: new SimulatedClock() });
    for (const id of ['a', 'b', 'c']) picker.addEndpoint({ id });
    const request = { model: 'm', promptTokens: 640, blockIds: [1, 2, 3, 4, 5, 6, 7, 8, 9] };
    const picks = Array.from({ length: 6 }, () => picker.route(request).endpoint.id);
    expect(new Set(picks)).toHaveLength(1);
    picker.stop();
  });

  it.each([1, 2])('[G286] has %i of its targets sent to the proxy', async (count) => {
    const all = written(
      'all.mjs',
      `export const plugins = {
  schedulers: [
    {
      type: 'all',
      config: { parse: (raw) => raw },
      create: () => ({
        schedule: (endpoints) => ({
          primary: {
            kind: 'picked',
            profile: 'p',
            targets: endpoints.map((endpoint) => ({ endpoint, score: 1 })),
          },
          profiles: [],
          headers: new Map(),
        }),
      }),
    },
  ],
};
`,
    );
    const createPicker = await pickerMaker([all]);
    const field = count === 1 ? '' : `, maxNumOfEndpoints: ${count}`;
    const config = CONFIG.replace('most-cached', `all${field}`);
    const picker = createPicker({ config, seed: 1, clock: new SimulatedClock() });
    for (const id of ['a', 'b', 'c']) picker.addEndpoint({ id });
    expect(picker.route({ model: 'm', promptTokens: 10 }).destinations).toHaveLength(count);
    picker.stop();
  });

  async function checkConfig(module: string, config: string): Promise<string> {
    const args = [PROGRAM, 'check', '--plugin', module, config];
    const ran = promisify(execFile)(process.execPath, args);
    const { stderr = '' } = await ran.then(
      () => ({ stderr: 'passed' }),
      (error: unknown) => error as { readonly stderr?: string },
    );
    return stderr;
  }

  it('[G282] fails `check --plugin` where it fails in its first decision', async () => {
    const module = written('no-needs.mjs', reading(''));
    const config = written('no-needs.yaml', CONFIG);
    const stderr = await checkConfig(module, config);
    expect(stderr).toContain('scheduler most-cached: failed in schedule');
    expect(stderr).toContain('has to name it in its needs');
  });

  it('[G296] fails `check --plugin` where its first decision cannot be used', async () => {
    const needed = reading('needs: () => [match],');
    const module = written('no-text.mjs', needed.replace('new Map()', "new Map([['x-a', 5]])"));
    const stderr = await checkConfig(module, written('no-text.yaml', CONFIG));
    expect(stderr).toContain('scheduler most-cached: failed in schedule: it gave number as the');
  });
});
