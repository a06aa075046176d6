import type { ApiAccess } from '../../endpoints/discovery/kubernetes/api/api-access.ts';
import type { PoolName } from '../../endpoints/discovery/kubernetes/pool/pool-sources.ts';
import type { Clock, Random } from '../../framework/runtime.ts';
import type { Log } from '../../runtime/log/log.ts';
import { Gauge, type Registry } from '../../runtime/prom-client.ts';
import { KubeLease } from './kube-lease.ts';
import { type ElectionTiming, LeaderElection } from './leader-election.ts';
import { leaseNameOf } from './lease-name.ts';

export interface ElectionOptions {
  readonly access: ApiAccess;
  readonly pool: PoolName;
  /** Different from that of every other picker of the pool. */
  readonly identity: string;
  /** The reference's when left out. */
  readonly timing?: ElectionTiming | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly registry: Registry;
  readonly log: Log;
  onChange(leading: boolean): void;
}

/** Elects one of the pool's pickers by the reference's Lease, so that both can be candidates. */
export function startElection(options: ElectionOptions): LeaderElection {
  const { access, pool, identity, timing, clock, random, registry, log } = options;
  const lease = leaseNameOf(pool);
  const election = new LeaderElection({
    store: new KubeLease(access, { namespace: pool.namespace, name: lease }),
    identity,
    timing,
    clock,
    random,
    onChange: (leading, leader) => {
      log.info({ lease, identity, leader }, leading ? 'this picker leads' : 'another picker leads');
      options.onChange(leading);
    },
    onTrouble: (reason) => log.warn({ lease, reason }, 'leader election'),
  });
  // The name that controllers and the reference use.
  new Gauge({
    name: 'leader_election_master_status',
    help: 'Whether this picker is the leader of its pool’s pickers. `name` is the Lease.',
    labelNames: ['name'],
    registers: [registry],
    collect() {
      this.set({ name: lease }, election.leading ? 1 : 0);
    },
  });
  return election;
}
