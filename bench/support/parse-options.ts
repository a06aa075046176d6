import { type ParseArgsConfig, parseArgs } from 'node:util';

/**
 * The options of a program that a developer starts. Ends the process with a sentence and exit code
 * 2 where there is no such option: a stack would hide which one is wrong. With `help`, `--help`
 * prints that and ends it with 0; other programs have the option themselves.
 */
export function parseOptions<const T extends ParseArgsConfig>(
  config: T,
  help?: string,
): ReturnType<typeof parseArgs<T>> {
  if (help !== undefined && process.argv.includes('--help')) {
    process.stdout.write(help);
    return process.exit(0);
  }
  try {
    return parseArgs(config);
  } catch (error) {
    if (!isWrongOption(error)) throw error;
    process.stderr.write(`${error.message}; --help prints the options\n`);
    return process.exit(2);
  }
}

function isWrongOption(error: unknown): error is Error {
  return (
    error instanceof Error &&
    'code' in error &&
    typeof error.code === 'string' &&
    error.code.startsWith('ERR_PARSE_ARGS_')
  );
}
