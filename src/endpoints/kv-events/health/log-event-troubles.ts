import type { EndpointWriter } from '../../../framework/plugin.ts';
import type { Clock } from '../../../framework/runtime.ts';
import { limitedWarnings } from '../../../runtime/log/limited-log.ts';
import type { Log } from '../../../runtime/log/log.ts';
import { UNUSABLE_ADVICE } from './event-health.ts';
import { observeEventTroubles } from './event-troubles.ts';

interface EventTroubleSinks {
  readonly log: Pick<Log, 'warn' | 'error'>;
  readonly clock: Pick<Clock, 'now'>;
  /** Called for each message that is dropped, with the reason. */
  readonly onDropped: (reason: string) => void;
  /** Called for each failure of a socket. */
  readonly onSocketFailed: () => void;
}

/**
 * Logs what is wrong with KV events: each kind once for an endpoint, tokenizers once a minute,
 * sockets each time.
 */
export function logEventTroubles(
  pool: EndpointWriter,
  { log, clock, onDropped, onSocketFailed }: EventTroubleSinks,
): void {
  const warn = limitedWarnings(log, clock);
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
    onNoTokens({ origin, pathname }, reason) {
      warn(
        { tokenizer: origin + pathname, reason },
        'a tokenizer gives no tokens: what endpoints hold of prompts is estimated',
      );
    },
  });
}
