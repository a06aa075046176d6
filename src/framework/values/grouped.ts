/** A count with a mark at thousands, as people read it, whatever the language of the machine. */
export function grouped(count: number): string {
  return count.toLocaleString('en');
}

/** A count with what it counts, as in `1 answer` and `2,000 answers`. */
export function countOf(count: number, what: string): string {
  return `${grouped(count)} ${what}${count === 1 ? '' : 's'}`;
}

/** A number with one digit after the point and a mark at thousands, as in `1,421.7`. */
export function tenths(value: number): string {
  return value.toLocaleString('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 });
}
