/** What the samples of a server have shown of it, and no request holds. */
const LEARNED: ReadonlySet<string> = new Set(['runningMax', 'keptShare']);

/** What an endpoint's load still counts, as lines; empty after the last request has ended. */
export function loadLeft(id: string, load: object): readonly string[] {
  return Object.entries(load).flatMap(([what, amount]) =>
    LEARNED.has(what) || Object.is(amount, 0) ? [] : [`${id} ${what} ${amount}`],
  );
}
