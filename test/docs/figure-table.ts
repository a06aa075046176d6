import { z } from 'zod';

const reportSchema = z.object({
  testResults: z.array(
    z.object({
      assertionResults: z.array(
        z.object({
          meta: z
            .object({
              figures: z
                .array(z.object({ what: z.string(), promised: z.string(), measured: z.string() }))
                .optional(),
            })
            .optional(),
        }),
      ),
    }),
  ),
});

/**
 * A table of the figures that tests have recorded in a vitest JSON report; undefined if there are
 * none.
 */
export function figureTable(report: string): string | undefined {
  const { testResults } = reportSchema.parse(JSON.parse(report));
  const figures = testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .flatMap(({ meta }) => meta?.figures ?? []);
  if (figures.length === 0) return undefined;
  const rows = [
    ['', 'promised', 'measured'],
    ...figures.map(({ what, promised, measured }) => [what, promised, measured]),
  ];
  const widths = [0, 1, 2].map((at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd();
  return `${rows.map(line).join('\n')}\n`;
}
