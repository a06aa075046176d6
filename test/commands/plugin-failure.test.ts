import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { PROGRAM } from '../support/programs/program.ts';

const root = dirname(dirname(import.meta.dirname));
const folder = mkdtempSync(join(tmpdir(), 'pointsman-plugin-failure-'));
afterAll(() => rmSync(folder, { recursive: true }));

const PLUGIN = `export const plugins = {
  scorers: [{
    type: 'broken-scorer',
    config: { parse: () => ({}) },
    create: () => ({ score: (endpoints) => endpoints.map(({ absent }) => absent.value) }),
  }],
};
`;
const CONFIG = `
apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins: [{ type: broken-scorer }]
`;

it('[V330] simulate names the plugin that failed and its line, and no line of the program', () => {
  const [plugin, config, pool] = ['broken.mjs', 'broken.yaml', 'pool.yaml'].map((name) => {
    return join(folder, name);
  }) as [string, string, string];
  writeFileSync(plugin, PLUGIN);
  writeFileSync(config, CONFIG);
  writeFileSync(pool, 'servers: [{ count: 2, preset: llama-3.1-8b-h100 }]\n');
  const trace = join(root, 'bench', 'traces', 'mooncake-conversation-5min.jsonl');
  const args = ['--trace', trace, '--pool', pool, '--plugin', plugin, '--config', config];
  const { status, stderr } = spawnSync(process.execPath, [PROGRAM, 'simulate', ...args], {
    encoding: 'utf8',
  });
  const [sentence, ...frames] = stderr.trimEnd().split('\n');
  expect(sentence).toMatch(/^scorer broken-scorer failed in score: .*reading 'value'/);
  const line = `${pathToFileURL(plugin).href}:5:`;
  expect(frames).not.toEqual([]);
  expect(frames.filter((frame) => !frame.includes(line))).toEqual([]);
  expect(status).toBe(1);
});

it('[V333] check says how to write what Node cannot read of TypeScript', () => {
  const module = join(folder, 'enum.ts');
  writeFileSync(module, 'enum Tier { Low }\nexport const plugins = { scorers: [] };');
  const { stderr } = spawnSync(
    process.execPath,
    [PROGRAM, 'check', 'default', '--plugin', module],
    {
      encoding: 'utf8',
    },
  );
  expect(stderr).toContain('or compile the file first');
});
