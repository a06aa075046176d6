import type { EndpointWriter } from '../../framework/plugin.ts';
import type { Log } from '../../runtime/log.ts';
import { observeEventTroubles } from './event-troubles.ts';

interface EventTroubleCounts {
  /** Called for each message that is dropped, with the reason. */
  readonly onDropped: (reason: string) => void;
  /** Called for each failure of a socket. */
  readonly onSocketFailed: () => void;
}

/** Logs what is wrong with KV events: each kind once for an endpoint, sockets each time. */
export function logEventTroubles(
  pool: EndpointWriter,
  log: Pick<Log, 'warn' | 'error'>,
  { onDropped, onSocketFailed }: EventTroubleCounts,
): void {
  observeEventTroubles(pool, {
    onDropped({ id, address }, { reason, message }, first) {
      onDropped(reason);
      if (!first) return;
      log.warn(
        { endpoint: id, address, reason, message },
        'a message of KV events from an endpoint is dropped; what its cache holds is estimated',
      );
    },
    onSocketFailed(address, reason) {
      onSocketFailed();
      log.error({ address, reason }, 'a socket for KV events failed');
    },
  });
}
