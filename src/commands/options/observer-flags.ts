import type { Log } from '../../runtime/log/log.ts';
import type { ServeFlags } from './serve-flags.ts';

/**
 * The flags of a picker that only observes. It takes no part in an election, whatever they say: it
 * may have the arguments of the picker in charge, and would hold the Lease of that one's pool,
 * whose pickers would then all report that they are not ready.
 */
export function asObserver(flags: ServeFlags, log: Pick<Log, 'warn'>): ServeFlags {
  if (!flags.observe || !flags.haEnableLeaderElection) return flags;
  log.warn(
    {},
    'an observer takes no part in the election of a leader: the Lease is that of the pickers in charge',
  );
  return { ...flags, haEnableLeaderElection: false };
}
