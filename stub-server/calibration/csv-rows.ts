import type { z } from 'zod';
import { ConfigError } from '../../src/framework/error.ts';

/**
 * Reads the rows of a CSV with a header line. Empty cells are left out, and so are lines that begin
 * with `#`. Throws ConfigError with the invalid line, or if there are no rows.
 */
export function csvRows<T>(text: string, row: z.ZodType<T>, source: string): readonly T[] {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '' && !line.startsWith('#'));
  const [header = '', ...rest] = lines;
  if (rest.length === 0) {
    const message = 'has no rows: write a header line, then one line per measurement';
    throw new ConfigError(source, [{ path: 'file', message }]);
  }
  const columns = header.split(',').map((name) => name.trim());
  return rest.map((line, index) => {
    const cells = line.split(',');
    const raw = columns.flatMap((name, at) => {
      const cell = cells[at]?.trim() ?? '';
      return cell === '' ? [] : [[name, cell] as const];
    });
    const parsed = row.safeParse(Object.fromEntries(raw));
    if (parsed.success) return parsed.data;
    const issues = parsed.error.issues.map(({ path, message }) => ({
      path: `line ${index + 2}, ${path.join('.')}`,
      message,
    }));
    throw new ConfigError(source, issues);
  });
}
