import type { Clock, Timer } from '../../src/framework/runtime.ts';
import type { TimedFault } from './fault.ts';
import type { FaultBoard } from './fault-board.ts';

/**
 * Begins and ends faults when they are due: `boards` has those of each server, one a rank. Throws nothing for a server
 * that is not there: it is skipped.
 */
export function scheduleFaults(
  faults: readonly TimedFault[],
  boards: readonly (readonly FaultBoard[])[],
  clock: Clock,
): { stop(): void } {
  const timers: Timer[] = faults.flatMap(({ server, atMs, forMs, fault }) => {
    return (boards[server] ?? []).flatMap((board) => [
      clock.setTimer(atMs, () => board.begin(fault)),
      clock.setTimer(atMs + forMs, () => board.end(fault.kind)),
    ]);
  });
  return {
    stop: () => {
      for (const timer of timers) timer.cancel();
    },
  };
}
