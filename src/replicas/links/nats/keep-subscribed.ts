import type { NatsConnection } from '@nats-io/nats-core';

/** How long after a refusal NATS is asked again. */
const AGAIN_MS = 5000;

/**
 * Subscribes, and again where NATS refuses it: its client ends such a subscription for good, also
 * where the user gets the right while the connection lasts.
 */
export function keepSubscribed(
  connection: NatsConnection,
  subject: string,
  onMessage: (data: Uint8Array) => void,
): void {
  if (connection.isClosed()) return;
  const subscription = connection.subscribe(subject, {
    callback: (error, message) => {
      if (error === null) onMessage(message.data);
    },
  });
  const again = (): void => keepSubscribed(connection, subject, onMessage);
  void subscription.closed.then((refusal) => {
    if (refusal instanceof Error) setTimeout(again, AGAIN_MS).unref();
  });
}
