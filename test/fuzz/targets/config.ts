import { readFileSync } from 'node:fs';
import { EMBEDDED_CATALOGUE } from '../../../src/catalogue/built-in-catalogue.ts';
import { NAMED_CONFIGS } from '../../../src/config/defaults.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { packageFile } from '../../../src/files/folders.ts';
import { ConfigError } from '../../../src/framework/error.ts';
import { expected, type FuzzTarget, promise, utf8 } from '../target.ts';

const decoder = new TextDecoder();
export const CONFIG_FILES: readonly string[] = [
  'deploy/disaggregation.yaml',
  'deploy/assignment.yaml',
  'deploy/conformance.yaml',
];

const YAML_WORDS =
  '- type: |parameters: {}|parameters:\n    |weight: |{|}|[|]|*a|&a |<<: |!!binary |? |>-\n|\t|#|: ' +
  '|- |---\n|~|pluginRef: |__proto__: |constructor|"|\'|%YAML 1.1\n|0x10|.inf';

/** Whatever the text is, it is a plan, or one error that lists what is wrong. */
export const config: FuzzTarget = {
  name: 'config',
  weight: 0.1,
  // An error is made for each piece that is wrong, so long inputs take their time for few outcomes.
  inputBytesMax: 1200,
  seeds: [
    ...[...NAMED_CONFIGS.values()].map(utf8),
    ...CONFIG_FILES.map((path) => readFileSync(packageFile(path))),
  ],
  words: [
    ...YAML_WORDS.split('|'),
    ...[...EMBEDDED_CATALOGUE.scorers, ...EMBEDDED_CATALOGUE.filters].map(({ type }) => type),
  ],
  run: (input) => {
    try {
      const text = decoder.decode(input);
      const plan = loadConfig({ text, source: 'fuzz', catalogue: EMBEDDED_CATALOGUE });
      return `${plan.profiles.length} profiles, ${plan.plugins.length} plugins, ${plan.warnings.length} warnings`;
    } catch (error) {
      if (error instanceof ConfigError) {
        promise(error.issues.length > 0, () => 'an error without an issue');
        return error.issues.length > 3
          ? `${error.issues.length} issues`
          : expected(error, ConfigError);
      }
      return expected(error, ConfigError);
    }
  },
};
