import type { PolicyResult } from './policy-result.ts';

const COLUMNS: readonly {
  readonly head: string;
  readonly cell: (result: PolicyResult) => string;
}[] = [
  { head: 'policy', cell: ({ policy }) => policy },
  { head: 'TTFT mean', cell: ({ ttftMs }) => milliseconds(ttftMs.mean) },
  { head: 'p50', cell: ({ ttftMs }) => milliseconds(ttftMs.p50) },
  { head: 'p90', cell: ({ ttftMs }) => milliseconds(ttftMs.p90) },
  { head: 'p99', cell: ({ ttftMs }) => milliseconds(ttftMs.p99) },
  { head: 'tokens/s', cell: ({ tokensPerSecond }) => tokensPerSecond.toFixed(0) },
  { head: 'prefix hits', cell: ({ prefixHitRate }) => `${(100 * prefixHitRate).toFixed(1)} %` },
  { head: 'max/mean req', cell: ({ balance }) => balance.requests.toFixed(2) },
  { head: 'max/mean tok', cell: ({ balance }) => balance.promptTokens.toFixed(2) },
  { head: 'errors', cell: ({ errors }) => String(errors) },
];

/** One row a policy, columns aligned, the name on the left and figures on the right. */
export function renderTable(results: readonly PolicyResult[]): string {
  const rows = [
    COLUMNS.map(({ head }) => head),
    ...results.map((result) => COLUMNS.map(({ cell }) => cell(result))),
  ];
  const widths = COLUMNS.map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  );
  return rows
    .map((row) =>
      row
        .map((text, column) => {
          const width = widths[column] ?? 0;
          return column === 0 ? text.padEnd(width) : text.padStart(width);
        })
        .join('  '),
    )
    .join('\n');
}

function milliseconds(value: number): string {
  return `${value.toFixed(0)} ms`;
}
