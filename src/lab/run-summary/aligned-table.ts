/** Rows as lines, columns aligned: the first `left` to the left, others to the right, the last as it comes if its head is empty. */
export function alignedTable(rows: readonly (readonly string[])[], left: number): string {
  const head = rows[0] ?? [];
  const widths = head.map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  );
  const cell = (text: string, column: number): string => {
    const width = widths[column] ?? 0;
    return column < left || head[column] === '' ? text.padEnd(width) : text.padStart(width);
  };
  return `${rows.map((row) => row.map(cell).join('  ').trimEnd()).join('\n')}\n`;
}
