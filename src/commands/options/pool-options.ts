import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { type Command, InvalidArgumentError } from 'commander';
import { poolVersionOf } from '../../endpoints/discovery/kubernetes/pool/inference-pool.ts';
import { readSelector } from '../../endpoints/discovery/kubernetes/pool/read-selector.ts';
import { commandLineError } from '../../framework/error.ts';
import type { PoolOptions } from '../../serve/options/serve-options.ts';
import { loadApiAccess } from '../api-access/load-api-access.ts';
import { port } from './option-values.ts';

/** Flags of `serve` about the pods that serve. */
export interface PoolFlags {
  readonly poolName?: string;
  readonly poolNamespace?: string;
  readonly poolGroup: string;
  readonly endpointSelector?: string;
  readonly endpointTargetPorts: readonly number[];
  readonly kubeconfig?: string;
  readonly haEnableLeaderElection: boolean;
}

/** The label `name` of the pool metrics where nothing names the pool. */
const UNNAMED = 'default';
/** As many as the reference allows. */
const PORTS_MAX = 8;

export function addPoolOptions(command: Command): Command {
  return command
    .option(
      '--pool-namespace <name>',
      'take endpoints from the InferencePool --pool-name in this namespace, and from its pods ' +
        '(default: $NAMESPACE, or default, where another flag asks for a pool)',
    )
    .option('--pool-group <group>', 'API group of the InferencePool', 'inference.networking.k8s.io')
    .option(
      '--endpoint-selector <selector>',
      'take endpoints from the pods with these labels, without an InferencePool: app=vllm,env!=test',
    )
    .option(
      '--endpoint-target-ports <ports>',
      'ports of those pods, separated by commas, from 1 to 8',
      ports,
      [],
    )
    .option(
      '--kubeconfig <file>',
      'how to reach the API server; not needed inside a cluster or with a kubeconfig of your own',
    )
    .option(
      '--ha-enable-leader-election',
      'elect one of the pool’s pickers by a Lease; only the elected one is ready',
      false,
    );
}

/** Where the pods are. `isListed`: other flags, or the configuration, list endpoints. */
export async function poolFrom(
  flags: PoolFlags,
  { isListed }: { readonly isListed: boolean },
): Promise<Pick<PoolOptions, 'poolName' | 'kubernetes' | 'election'>> {
  const { poolName = UNNAMED } = flags;
  const spec = selected(flags);
  if (!asksForPods(flags, isListed)) {
    if (flags.haEnableLeaderElection) {
      const message = 'needs --pool-namespace: the Lease is in the namespace of the pool';
      throw commandLineError('--ha-enable-leader-election', message);
    }
    return { poolName, kubernetes: undefined, election: undefined };
  }
  const namespace = flags.poolNamespace ?? (process.env['NAMESPACE'] || 'default');
  const access = await loadApiAccess(flags.kubeconfig);
  const { poolGroup: group } = flags;
  const pool = { namespace, name: poolName, group, version: poolVersionOf(group) };
  const identity = `${hostname()}_${randomUUID()}`;
  return {
    poolName,
    kubernetes: { access, pool, spec },
    election: flags.haEnableLeaderElection ? { identity } : undefined,
  };
}

/**
 * A flag that only makes sense with an API server asks for pods; so does the name of a pool where
 * nothing else lists endpoints, which would otherwise follow nothing.
 */
function asksForPods(flags: PoolFlags, isListed: boolean): boolean {
  const { poolName, poolNamespace, endpointSelector, kubeconfig } = flags;
  if (poolNamespace !== undefined || endpointSelector !== undefined) return true;
  return kubeconfig !== undefined || (poolName !== undefined && !isListed);
}

function selected({
  endpointSelector,
  endpointTargetPorts,
}: PoolFlags): NonNullable<PoolOptions['kubernetes']>['spec'] {
  const count = endpointTargetPorts.length;
  if (endpointSelector === undefined) {
    if (count === 0) return undefined;
    throw commandLineError(
      '--endpoint-target-ports',
      'needs --endpoint-selector: the pool has its own',
    );
  }
  const selector = readSelector(endpointSelector);
  if ('fault' in selector) throw commandLineError('--endpoint-selector', selector.fault);
  if (count === 0 || count > PORTS_MAX) {
    const what = count === 0 ? 'is missing' : `names ${count} ports`;
    const message = `${what}: give 1 to ${PORTS_MAX}, such as 8000,8001`;
    throw commandLineError('--endpoint-target-ports', message);
  }
  return { selector: selector.text, ports: endpointTargetPorts };
}

/** Ports without repetitions. */
function ports(text: string, before: readonly number[]): readonly number[] {
  const given = text.split(',').map((each) => port(each.trim()));
  if (given.includes(0)) throw new InvalidArgumentError('0 is not a port of a model server.');
  return [...new Set([...before, ...given])];
}
