import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { EMBEDDED_CATALOGUE } from '../../src/catalogue/built-in-catalogue.ts';
import { withPlugins } from '../../src/catalogue/load-plugins.ts';
import { planFromPlugins } from '../../src/catalogue/plan.ts';
import { pickerMaker } from '../../src/index.ts';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';

const example = join(import.meta.dirname, '../../deploy/examples/plugin');
const folder = mkdtempSync(join(tmpdir(), 'pointsman-plugins-'));
afterAll(() => rmSync(folder, { recursive: true }));

function module(name: string, text: string): string {
  const path = join(folder, `${name}.mjs`);
  writeFileSync(path, text);
  return path;
}

const config = { parse: 'config: { parse: (raw) => raw }', create: 'create: () => ({})' };

describe('plugins outside of the tree', () => {
  it('run by the name of their type, such as the example’s', async () => {
    const plugin = join(example, 'shortest-answer.ts');
    const plan = await planFromPlugins(join(example, 'config.yaml'), [plugin]);
    expect(plan.profiles[0]?.plugins[0]?.plugin.config).toEqual({ unknownTokens: 300 });
    const createPicker = await pickerMaker([plugin]);
    const config = `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins: [{type: shortest-answer-scorer}]
`;
    const picker = createPicker({ config, seed: 1, clock: new SimulatedClock() });
    for (const id of ['a', 'b']) picker.addEndpoint({ id });
    const request = { model: 'm', promptTokens: 10 };
    const first = picker.route({ ...request, outputTokensMax: 1000 }).endpoint.id;
    const second = picker.route({ ...request, outputTokensMax: 10 });
    expect(second.endpoint.id).not.toBe(first);
    expect(picker.route({ ...request, outputTokensMax: 10 }).endpoint.id).toBe(second.endpoint.id);
    picker.stop();
  });

  it.each([
    ['nothing exported', 'export const other = 1', /plugins: is not exported/],
    ['no such kind', 'export const plugins = { scorer: [] }', /plugins\.scorer: is not a kind/],
    ['no list', 'export const plugins = { scorers: {} }', /is not a list/],
    [
      'no type',
      `export const plugins = { scorers: [{ ${config.parse}, ${config.create} }] }`,
      /plugins\.scorers\[0\]: has no type/,
    ],
    [
      'no config',
      `export const plugins = { scorers: [{ type: 'x', ${config.create} }] }`,
      /x has no config with a parse function/,
    ],
    [
      'nothing that makes it',
      `export const plugins = { dataSources: [{ type: 'x', ${config.parse}, ${config.create} }] }`,
      /x has no function start/,
    ],
    [
      'a type that is taken',
      `export const plugins = { scorers: [{ type: 'queue-scorer', ${config.parse}, ${config.create} }] }`,
      /the type queue-scorer exists already/,
    ],
    [
      '[G201] a module with a package that is not beside it',
      'import "no-such-package";',
      /Cannot find package 'no-such-package' .*; install it in the folder of the file or above it/,
    ],
    ['a module that throws', 'throw new Error("no")', /cannot be loaded as a module: no/],
  ])('are refused with %s', async (what, text, message) => {
    const path = module(what.replaceAll(' ', '-'), text);
    await expect(planFromPlugins('default', [path])).rejects.toThrow(message);
  });

  it.each([
    ['a timer that goes on', 'const timer = setInterval(() => {}, 1e6); timer.unref();'],
    ['nothing to wait for', ''],
  ])('[G310] are refused if the module does not come to its end, with %s', async (what, text) => {
    const path = module(
      `unending-${what.replaceAll(' ', '-')}`,
      `${text} await new Promise(() => {}); export const plugins = { scorers: [] };`,
    );
    await expect(withPlugins(EMBEDDED_CATALOGUE, [path], 1)).rejects.toThrow(
      /file: .* did not come to its end within 0\.001 s: something that it awaits at its top level/,
    );
  });

  it('are refused if the file does not exist', async () => {
    const path = join(folder, 'nowhere.ts');
    await expect(planFromPlugins('default', [path])).rejects.toThrow(/file: is not there/);
  });
});
