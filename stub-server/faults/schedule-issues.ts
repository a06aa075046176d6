import type { ConfigIssue } from '../../src/framework/error.ts';
import type { Millis } from '../../src/framework/runtime.ts';

/** A fault of a pool file, of the stub or of the simulator. */
interface ScheduledFault {
  readonly kind: string;
  readonly server: number;
  readonly atMs: Millis;
  readonly forMs: Millis;
}

/**
 * What cannot be in the `faults` of a pool file: a server that the pool does not have, and a fault
 * that begins while one of its kind lasts at the same server, because the first end would end both.
 */
export function scheduleIssues(
  faults: readonly ScheduledFault[],
  servers: number,
): readonly ConfigIssue[] {
  const known = faults.map((fault, place) => ({ ...fault, at: `faults[${place}]` }));
  const unknown = known.filter(({ server }) => server >= servers);
  const alike = Map.groupBy(known, ({ server, kind }) => `${server} ${kind}`);
  return [
    ...unknown.map(({ at, server }) => ({
      path: `${at}.server`,
      message: `is ${server}, and the last of the pool's servers is ${servers - 1}, counted from 0`,
    })),
    ...[...alike.values()].flatMap(overlapsOf),
  ];
}

/** Faults of one kind at one server that begin before the one before them has ended. */
function overlapsOf(
  faults: readonly (ScheduledFault & { readonly at: string })[],
): readonly ConfigIssue[] {
  const inOrder = faults.toSorted((a, b) => a.atMs - b.atMs);
  return inOrder.flatMap((fault, index) => {
    const before = inOrder[index - 1];
    if (before === undefined) return [];
    const endsAt = before.atMs + before.forMs;
    if (fault.atMs >= endsAt) return [];
    const message =
      `is ${fault.atMs}, and ${before.at} of the same kind lasts at that server until ${endsAt}: ` +
      'let it begin then, or make one fault of the two';
    return [{ path: `${fault.at}.atMs`, message }];
  });
}
