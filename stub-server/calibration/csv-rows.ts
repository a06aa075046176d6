import type { z } from 'zod';
import { ConfigError } from '../../src/framework/error.ts';

/**
 * Reads CSV rows. Columns in snake_case are keys of `row` in camelCase; lines that begin with `#`
 * and empty cells are left out. Throws ConfigError with the number of the line in the text.
 */
export function csvRows<T>(text: string, row: z.ZodType<T>, source: string): readonly T[] {
  const lines = text
    .split(/\r?\n/)
    .map((line, index) => ({ line, number: index + 1 }))
    .filter(({ line }) => line.trim() !== '' && !line.startsWith('#'));
  const [header, ...rest] = lines;
  if (header === undefined || rest.length === 0) {
    const message = 'has no rows: write a header line, then one line per measurement';
    throw new ConfigError(source, [{ path: 'file', message }]);
  }
  const columns = header.line.split(',').map((name) => camel(name.trim()));
  return rest.map(({ line, number }) => {
    const cells = line.split(',');
    const raw = columns.flatMap((name, at) => {
      const cell = cells[at]?.trim() ?? '';
      return cell === '' ? [] : [[name, cell] as const];
    });
    const parsed = row.safeParse(Object.fromEntries(raw));
    if (parsed.success) return parsed.data;
    const issues = parsed.error.issues.map(({ path, message }) => ({
      path: `line ${number}, ${snake(path.join('.'))}`,
      message,
    }));
    throw new ConfigError(source, issues);
  });
}

function camel(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
