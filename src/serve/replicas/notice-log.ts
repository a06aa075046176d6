import type { Clock } from '../../framework/runtime.ts';
import type { ReplicaNotice } from '../../replicas/peers/peer-status.ts';
import { limitedLines, limitedWarnings } from '../../runtime/log/limited-log.ts';
import type { Log } from '../../runtime/log/log.ts';

/**
 * Lines about replicas that come and go: enough for a rolling update of all of them, and then so
 * few that forged messages cannot fill the log.
 */
const LINES = { perSecond: 0.5, atOnce: 100 };
const NO_CONNECTION =
  'no connection to NATS and so to the other replicas: decides by what it knows itself, and tries again';

/** Logs what an operator should know of the other replicas. */
export function noticeLog(log: Log, clock: Clock): (notice: ReplicaNotice) => void {
  const warn = limitedWarnings(log, clock);
  const inform = limitedLines((fields, message) => log.info(fields, message), clock, LINES);
  return (notice) => {
    if (notice.kind === 'connected') log.info({}, 'connected to the other replicas');
    else if (notice.kind === 'disconnected') {
      const { reason } = notice;
      log.warn({ reason }, NO_CONNECTION);
    } else if (notice.kind === 'joined') inform({ replica: notice.peer }, 'a replica is there');
    else if (notice.kind === 'left') {
      const { peer, reason } = notice;
      inform({ replica: peer, reason }, 'a replica is gone; its load is released');
    } else if (notice.kind === 'same-id') {
      warn({ replica: notice.peer }, 'another replica has the id of this one: set --replica-id');
    } else if (notice.kind === 'doubted') {
      warn(
        { replica: notice.peer, endpoint: notice.address },
        'a replica claims many more requests than the endpoint reports: they do not count for ten minutes',
      );
    } else if (notice.kind === 'refused') {
      warn({ reason: notice.reason }, 'messages between the replicas do not pass');
    } else warn({ reason: notice.reason }, 'a message of a replica cannot be read');
  };
}
