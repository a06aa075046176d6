import { expect, it } from 'vitest';
import { readPoolFile } from '../../../stub-server/options/stub-pool-file.ts';
import { issuesOf } from '../../../test/support/load-text.ts';
import { parseEndpoints } from '../../endpoints/discovery/file/parse-endpoints.ts';
import { ConfigError } from '../../framework/error.ts';
import { readPool } from '../../lab/simulate/pool-file.ts';

const POOL = 'servers: [{ count: 2, preset: llama-3.1-8b-h100 }]\n';
const ENDPOINTS = 'endpoints: [{ name: a, address: 10.0.0.1, port: 8000 }]\n';
const RULE = 'shadow: mine.yaml\npromote: { decisions: 100 }\n';
const CONFIGURATION = 'kind: EndpointPickerConfig\nplugins: [{ type: queue-scorer }]\n';

function refusal(read: (text: string, source: string) => unknown, text: string): string {
  try {
    read(text, 'file.yaml');
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return 'none';
}

it.each([
  ['an endpoints file', parseEndpoints, POOL, /^file\.yaml:\n {2}file: .*no list .*--pool to/],
  ['an endpoints file', parseEndpoints, CONFIGURATION, /: is a configuration and .* --config to/],
  ['a pool of the simulator', readPool, ENDPOINTS, /no pool of servers: .*--endpoints-file to/],
  ['a pool of the simulator', readPool, CONFIGURATION, /: is a configuration and .* --config to/],
  ['a pool of the simulator', readPool, RULE, /: is a promotion rule and .* --promotion to/],
  ['a pool of the stub', readPoolFile, ENDPOINTS, /no pool of servers: .*--endpoints-file to/],
] as const)(
  '[O418] [O518] in place of %s, a file of another purpose is named with the option that takes it',
  (_, read, text, message) => {
    const said = refusal(read, text);
    expect(said).toMatch(message);
    // One line below that with the name of the file: what the file lacks does not matter then.
    expect(said.trimEnd().split('\n')).toHaveLength(2);
  },
);

it('[O518] in place of a configuration, a promotion rule is named with the option that takes it', () => {
  expect(issuesOf(RULE, '')).toEqual([
    'file: is a promotion rule and no configuration: pass it with --promotion to `pointsman serve`',
  ]);
});

it('[O418] a field too many in a file of the right purpose is named as such', () => {
  expect(refusal(parseEndpoints, `${ENDPOINTS}servers: []\n`)).toMatch(/servers: is not a known/);
  expect(issuesOf(`${CONFIGURATION}servers: []\n`, '')).toEqual([
    expect.stringMatching(/^servers: is not a known field/),
  ]);
});
