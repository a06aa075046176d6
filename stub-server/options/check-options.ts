import type { z } from 'zod';
import { issueText } from '../../src/files/reading/zod-issues.ts';
import { ConfigError } from '../../src/framework/error.ts';

interface OptionNames {
  readonly source: string;
  /** Begins the path of an issue. */
  readonly at?: readonly string[];
  /** Is the path of an issue that has none. */
  readonly fallback?: string;
  /** The flags that gave values, by the names of these. Their issues name flag and value. */
  readonly flags?: ReadonlyMap<string, string>;
}

/** The options in `raw` with their defaults. Throws ConfigError with every issue. */
export function checkOptions<T>(
  type: z.ZodType<T>,
  raw: unknown,
  { source, at = [], fallback = '', flags = new Map() }: OptionNames,
): T {
  const parsed = type.safeParse(raw);
  if (parsed.success) return parsed.data;
  const values = new Map(Object.entries(Object(raw)));
  const issues = parsed.error.issues.map((issue) => {
    const name = String(issue.path[0]);
    const flag = flags.get(name);
    const message = issueText(issue);
    return flag === undefined
      ? { path: [...at, ...issue.path].join('.') || fallback, message }
      : { path: flag, message: `${String(values.get(name))} ${message}` };
  });
  throw new ConfigError(source, issues);
}
