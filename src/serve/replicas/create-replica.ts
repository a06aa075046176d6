import type { Registry } from 'prom-client';
import type { Clock } from '../../framework/runtime.ts';
import { type NatsLinkOptions, natsLink } from '../../replicas/links/nats/nats-link.ts';
import { hashSecretOf } from '../../replicas/links/nats/seal.ts';
import type { ReplicaNotice } from '../../replicas/peers/peer-status.ts';
import { Replica, type ReplicaOptions } from '../../replicas/replica.ts';
import { limitedWarnings, linesPerSecond } from '../../runtime/log/limited-log.ts';
import type { Log } from '../../runtime/log/log.ts';
import { randomSeed } from '../../runtime/random-seed.ts';
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

/** Replicas hash prompts alike. Undefined where the picker shares nothing. */
export function sharedSecret({
  replicas,
}: Pick<SharingOptions, 'replicas'>): Uint32Array | undefined {
  return replicas && hashSecretOf(replicas.key, replicas.subject);
}

/** Lines in a second about replicas that come and go: what may be forged must not fill the log. */
const LINES_MAX = 10;
const NO_CONNECTION =
  'no connection to the other replicas: decides by what it knows itself, and tries again';

function noticeLog(log: Log, clock: Clock): (notice: ReplicaNotice) => void {
  const warn = limitedWarnings(log, clock);
  const inform = linesPerSecond((fields, message) => log.info(fields, message), clock, LINES_MAX);
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
