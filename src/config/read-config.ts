import { readYaml } from '../files/read-yaml.ts';
import { ConfigError } from '../framework/error.ts';
import { configSchema, type EndpointPickerConfig } from './schema.ts';
import { zodIssues } from './zod-issues.ts';

/** 1 Mi, as the reference's file discovery; a configuration is a few thousand characters. */
const CONFIG_CHARACTERS_MAX = 1024 * 1024;

/** YAML or JSON text to a configuration of the right shape. Throws ConfigError with every issue in it. */
export function readConfig(text: string, source: string): EndpointPickerConfig {
  if (text.length > CONFIG_CHARACTERS_MAX) {
    const message = `has ${text.length} characters, more than ${CONFIG_CHARACTERS_MAX}`;
    throw new ConfigError(source, [{ path: 'file', message }]);
  }
  const parsed = configSchema.safeParse(readYaml(text, source));
  if (!parsed.success) {
    throw new ConfigError(source, zodIssues(parsed.error, { schema: configSchema }));
  }
  return parsed.data;
}
