import { ConfigError } from '../../../src/framework/error.ts';

/** For a setting that cannot be combined with another. */
export function settingError(path: string, message: string): ConfigError {
  return new ConfigError('command line', [{ path, message }]);
}
