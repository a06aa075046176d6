import type { Clock } from '../../../framework/runtime.ts';
import { serveMethods } from '../calls/grpc.ts';
import { Listener } from '../port/listener.ts';
import type { ServerLimits } from '../port/server-limits.ts';
import type { Health } from './health.ts';

export interface HealthPortOptions {
  readonly host: string;
  /** A second port that serves only health; undefined opens none. */
  readonly healthPort?: number | undefined;
  readonly limits: ServerLimits;
  readonly clock: Clock;
}

/** Serves health without TLS; undefined where there is no such port. Rejects with a ListenError. */
export async function startHealthListener(
  { host, healthPort, limits, clock }: HealthPortOptions,
  health: Health,
): Promise<Listener | undefined> {
  if (healthPort === undefined) return undefined;
  const onStream = serveMethods(health.methods);
  const shared = { host, limits, clock, onStream };
  const listener = new Listener({ ...shared, port: healthPort, tls: 'plaintext' });
  await listener.listen();
  return listener;
}
