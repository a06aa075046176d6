/** A name with a larger edit distance is not suggested: it would confuse more than help. */
const DISTANCE_MAX = 4;

/** ` (did you mean X?)`, X being the most similar known name; empty where none is similar. */
export function nearest(wrong: string, known: Iterable<string>): string {
  let best = '';
  let least = Math.min(DISTANCE_MAX, Math.ceil(wrong.length / 2)) + 1;
  for (const name of known) {
    // A distance is at least the difference in length. A wrong name may be as long as its file.
    if (Math.abs(name.length - wrong.length) >= least) continue;
    const distance = editDistance(wrong, name);
    if (distance < least) {
      least = distance;
      best = name;
    }
  }
  return best === '' ? '' : ` (did you mean ${best}?)`;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const substituted = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(substituted, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
