import type { Registry } from 'prom-client';
import type { Clock } from '../../framework/runtime.ts';
import { type NatsLinkOptions, natsLink } from '../../replicas/links/nats/nats-link.ts';
import { hashSecretOf } from '../../replicas/links/nats/seal.ts';
import { Replica, type ReplicaOptions } from '../../replicas/replica.ts';
import type { Log } from '../../runtime/log/log.ts';
import { randomSeed } from '../../runtime/random-seed.ts';
import { noticeLog } from './notice-log.ts';
import { registerReplicaMetrics } from './replica-metrics.ts';

export interface ReplicasOptions extends NatsLinkOptions {
  readonly id: string;
  readonly intervalMs: number;
}

/** Those options of `serve` that sharing needs. */
interface SharingOptions {
  readonly replicas?: ReplicasOptions | undefined;
  readonly log: Log;
}

interface ReplicaParts extends Pick<ReplicaOptions, 'waiting'> {
  readonly registry: Registry;
  readonly clock: Clock;
}

/** Undefined where the picker shares nothing. It connects when it is started. */
export function createReplica(
  { replicas, log }: SharingOptions,
  { registry, clock, waiting }: ReplicaParts,
): Replica | undefined {
  if (replicas === undefined) return undefined;
  const { id, intervalMs, servers, subject } = replicas;
  log.info({ id, servers, subject }, 'shares what it does with the replicas of its pool');
  if (replicas.key === undefined) {
    log.warn(
      { subject },
      'every client that may write to this subject can change decisions, and prompt hashes have no secret: ' +
        'give --replicas-key-file',
    );
  }
  const onNotice = noticeLog(log, clock);
  const openLink = natsLink(replicas);
  const boot = randomSeed();
  const replica = new Replica({ id, boot, clock, intervalMs, openLink, onNotice, waiting });
  registerReplicaMetrics(registry, replica);
  return replica;
}

/** The secret with which all replicas hash prompts. Undefined where the picker shares nothing. */
export function sharedSecret({
  replicas,
}: Pick<SharingOptions, 'replicas'>): Uint32Array | undefined {
  return replicas && hashSecretOf(replicas.key, replicas.subject);
}
