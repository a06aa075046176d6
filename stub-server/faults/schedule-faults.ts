import type { Clock, Timer } from '../../src/framework/runtime.ts';
import type { TimedFault } from './fault.ts';
import type { FaultBoard } from './fault-board.ts';

/** Begins and ends faults when they are due. Throws nothing for a server that is not there: it is skipped. */
export function scheduleFaults(
  faults: readonly TimedFault[],
  boards: readonly FaultBoard[],
  clock: Clock,
): { stop(): void } {
  const timers: Timer[] = faults.flatMap(({ server, atMs, forMs, fault }) => {
    const board = boards[server];
    if (board === undefined) return [];
    return [
      clock.setTimer(atMs, () => board.begin(fault)),
      clock.setTimer(atMs + forMs, () => board.end(fault.kind)),
    ];
  });
  return {
    stop: () => {
      for (const timer of timers) timer.cancel();
    },
  };
}
