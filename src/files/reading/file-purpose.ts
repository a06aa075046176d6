interface FilePurpose {
  /** A file for it has this field, and no file of another purpose. */
  readonly field: string;
  /** With an article. */
  readonly what: string;
  readonly option: string;
  readonly command: string;
}

const PURPOSES: readonly FilePurpose[] = [
  {
    field: 'servers',
    what: 'a pool of simulated servers',
    option: '--pool',
    command: '`pointsman simulate`',
  },
  {
    field: 'endpoints',
    what: 'a list of endpoints',
    option: '--endpoints-file',
    command: '`pointsman serve`',
  },
  {
    field: 'plugins',
    what: 'a configuration',
    option: '--config',
    command: '`pointsman serve` or `simulate`',
  },
  {
    field: 'shadow',
    what: 'a promotion rule',
    option: '--promotion',
    command: '`pointsman serve`',
  },
];

/**
 * What a file of another purpose is and which option takes it, for a reader of files that have
 * `field` and are a `noun`. Undefined where nothing shows that it is of another purpose.
 */
export function otherPurpose(
  value: unknown,
  { field, noun }: { readonly field: string; readonly noun: string },
): string | undefined {
  if (typeof value !== 'object' || value === null || field in value) return undefined;
  const other = PURPOSES.find((purpose) => purpose.field in value);
  if (other === undefined) return undefined;
  return `is ${other.what} and no ${noun}: pass it with ${other.option} to ${other.command}`;
}
