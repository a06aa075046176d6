import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { PROGRAM } from '../support/programs/program.ts';

const folder = mkdtempSync(join(tmpdir(), 'pointsman-simulate-configs-'));
afterAll(() => rmSync(folder, { recursive: true }));
const HEAD = 'apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\n';
const FILES = {
  'trace.jsonl': '{"timestamp":0,"input_length":100,"output_length":5}\n',
  'pool.yaml': 'servers: [{ count: 2 }]\n',
  'unknown.yaml': `${HEAD}plugins: [{type: queue-scorerr}]\n`,
  'remote.yaml': `${HEAD}scheduler: {type: remote, address: "unix:/nowhere/mine.sock"}\n`,
};
for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, name), text);

describe('[O326] configurations that cannot be simulated are named before anything runs', () => {
  it.each([
    ['unknown.yaml', /^unknown\.yaml:\n {2}plugins\[0\]\.type: queue-scorerr is not a known/],
    [
      'remote.yaml',
      /^simulate:\n {2}scheduler: unix:\/nowhere\/mine\.sock cannot be reached \(connect ENOENT .*\): start it first/,
    ],
    [
      'default',
      /^simulate:\n {2}--config: default is given twice: give it once, and --seeds for more draws/,
    ],
  ])('%s', (config, sentence) => {
    const files = ['--trace', 'trace.jsonl', '--pool', 'pool.yaml'];
    const args = ['simulate', ...files, '--config', 'default', '--config', config];
    const { status, stderr } = spawnSync(process.execPath, [PROGRAM, ...args], {
      cwd: folder,
      encoding: 'utf8',
    });
    expect(stderr).toMatch(sentence);
    expect(status).toBe(2);
  });
});
