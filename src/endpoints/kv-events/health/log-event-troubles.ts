import type { EndpointWriter } from '../../../framework/plugin.ts';
import type { Log } from '../../../runtime/log/log.ts';
import { UNUSABLE_ADVICE } from './event-health.ts';
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
    onUnusable({ id, address }, reason) {
      log.warn(
        { endpoint: id, address, reason, message: UNUSABLE_ADVICE[reason] },
        'the KV events of an endpoint cannot be used; what its cache holds is estimated',
      );
    },
    onUnknownPod(pod) {
      log.warn(
        { pod },
        'KV events name a pod that is no endpoint of the pool: the topic must be kv@<ip>:<port>@<model>',
      );
    },
    onSocketFailed(address, reason) {
      onSocketFailed();
      log.error({ address, reason }, 'a socket for KV events failed');
    },
  });
}
