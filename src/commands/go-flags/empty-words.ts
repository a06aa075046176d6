import type { Command } from 'commander';

/** The arguments of a command without the empty words that no option of it takes as its value. */
export function withoutEmptyWords(
  args: readonly string[],
  { options }: Pick<Command, 'options'>,
): readonly string[] {
  const withValue = options.filter((option) => option.required || option.optional);
  const takers = new Set(withValue.map(({ long }) => long));
  return args.filter((word, at) => word !== '' || takers.has(args[at - 1] ?? ''));
}
