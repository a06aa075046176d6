import { Option } from 'commander';

/** `--plugin <file>`, as often as wanted. */
export function pluginOption(): Option {
  return new Option(
    '--plugin <file>',
    'a module with plugin types of your own; see docs/plugins.md',
  )
    .argParser((path: string, before: readonly string[]) => [...before, path])
    .default([], 'none');
}
