/** A count with a mark at thousands, as people read it, whatever the language of the machine. */
export function grouped(count: number): string {
  return count.toLocaleString('en');
}
