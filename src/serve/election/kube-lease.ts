import {
  CoordinationV1Api,
  type KubeConfig,
  type V1Lease,
  type V1LeaseSpec,
  V1MicroTime,
  type V1ObjectMeta,
} from '@kubernetes/client-node';
import { apiMessageOf, apiStatusOf } from '../../endpoints/discovery/kubernetes/api-error.ts';
import {
  type Lease,
  type LeaseRecord,
  LeaseRefusedError,
  type LeaseStore,
} from './leader-election.ts';

const CONFLICT = 409;
const NOT_FOUND = 404;
/** An overloaded server answers this; it does not count as a refusal. */
const TOO_MANY = 429;

/** A Lease of the API group `coordination.k8s.io`. */
export function kubeLease(
  config: KubeConfig,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): LeaseStore {
  const api = config.makeApiClient(CoordinationV1Api);
  const what = `lease ${name} in namespace ${namespace}`;
  /** Labels and other metadata are written back as they were read. */
  let metadata: V1ObjectMeta | undefined;
  const seen = (lease: V1Lease | undefined): Lease | undefined => {
    metadata = lease?.metadata;
    return lease && leaseOf(lease);
  };
  return {
    read: async () =>
      seen(
        await api.readNamespacedLease({ namespace, name }).catch((error: unknown) => {
          if (apiStatusOf(error) === NOT_FOUND) return undefined;
          throw explained(`read ${what}`, error);
        }),
      ),
    write: async (record, before) => {
      const spec = specOf(record);
      const written =
        before === undefined
          ? api.createNamespacedLease({ namespace, body: { metadata: { name }, spec } })
          : api.replaceNamespacedLease({
              namespace,
              name,
              body: {
                metadata: Object.assign(metadata ?? { name }, { resourceVersion: before.version }),
                spec,
              },
            });
      return seen(
        await written.catch((error: unknown) => {
          const code = apiStatusOf(error);
          // A lease that was deleted since it was read has changed, too.
          if (code === CONFLICT || (code === NOT_FOUND && before !== undefined)) return undefined;
          throw explained(`write ${what}`, error);
        }),
      );
    },
  };
}

function specOf({ holder, durationSeconds, transitions, ...at }: LeaseRecord): V1LeaseSpec {
  const { acquiredAtMs, renewedAtMs } = at;
  return {
    holderIdentity: holder,
    leaseDurationSeconds: durationSeconds,
    leaseTransitions: transitions,
    renewTime: new V1MicroTime(renewedAtMs),
    ...(acquiredAtMs !== undefined && { acquireTime: new V1MicroTime(acquiredAtMs) }),
  };
}

function leaseOf({ metadata, spec = {} }: V1Lease): Lease {
  // At run time this is text: the library does not parse times with microseconds.
  const acquiredAtMs = new V1MicroTime(spec.acquireTime ?? Number.NaN).getTime();
  return {
    version: metadata?.resourceVersion ?? '',
    holder: spec.holderIdentity ?? '',
    durationSeconds: spec.leaseDurationSeconds ?? 0,
    acquiredAtMs: Number.isNaN(acquiredAtMs) ? undefined : acquiredAtMs,
    transitions: spec.leaseTransitions ?? 0,
  };
}

/** An error that says in one sentence what failed and what to do. */
function explained(what: string, error: unknown): Error {
  const code = apiStatusOf(error);
  if (code === 403) {
    return new LeaseRefusedError(
      `not allowed to ${what}: give the picker’s service account get, create and update on leases of coordination.k8s.io`,
    );
  }
  if (code === 401)
    return new LeaseRefusedError(
      `cannot ${what}: the API server does not accept the picker’s token`,
    );
  const sentence = `cannot ${what}: ${apiMessageOf(error)}`;
  const refused = code !== undefined && code >= 400 && code < 500 && code !== TOO_MANY;
  return refused ? new LeaseRefusedError(sentence) : new Error(sentence);
}
