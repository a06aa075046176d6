import type { V1Lease, V1LeaseSpec, V1ObjectMeta } from '@kubernetes/client-node';
import type { ApiAccess } from '../../endpoints/discovery/kubernetes/api/api-access.ts';
import {
  type ApiQuestion,
  connectApi,
} from '../../endpoints/discovery/kubernetes/api/api-connection.ts';
import {
  apiMessageOf,
  apiStatusOf,
} from '../../endpoints/discovery/kubernetes/api/kubernetes-error.ts';
import { epochMsOf, isoTime } from '../../runtime/clock/iso-time.ts';
import {
  type Lease,
  type LeaseRecord,
  LeaseRefusedError,
  type LeaseStore,
} from './leader-election.ts';

/** A Lease is some hundred bytes. The election itself gives an answer 4 s. */
const ANSWER = { bytesMax: 1024 * 1024, timeoutMs: 10_000 } as const;
/** A holder is logged and compared: ours have fewer. */
const HOLDER_CHARS_MAX = 512;
const CONFLICT = 409;
const NOT_FOUND = 404;
/** An overloaded server answers this; it does not count as a refusal. */
const TOO_MANY = 429;

/** A Lease of the API group `coordination.k8s.io`. */
export function kubeLease(
  access: ApiAccess,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): LeaseStore {
  const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
  const what = `lease ${name} in namespace ${namespace}`;
  const ask = async (question: ApiQuestion): Promise<V1Lease> => {
    const api = await connectApi(access);
    try {
      return JSON.parse(await api.text(question, ANSWER)) as V1Lease;
    } finally {
      api.close();
    }
  };
  /** Labels and other metadata are written back as they were read. */
  let metadata: V1ObjectMeta | undefined;
  const seen = (lease: V1Lease | undefined): Lease | undefined => {
    metadata = lease?.metadata;
    return lease && leaseOf(lease);
  };
  return {
    read: async () =>
      seen(
        await ask({ path: `${path}/${name}` }).catch((error: unknown) => {
          if (apiStatusOf(error) === NOT_FOUND) return undefined;
          throw explained(`read ${what}`, error);
        }),
      ),
    write: async (record, before) => {
      const spec = specOf(record);
      const kind = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' };
      const version = before && { resourceVersion: before.version };
      const body = { ...kind, metadata: Object.assign({ name }, metadata, version), spec };
      const written =
        before === undefined
          ? ask({ path, method: 'POST', body: { ...body, metadata: { name } } })
          : ask({ path: `${path}/${name}`, method: 'PUT', body });
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

/** The fields of the API: times are text with microseconds. */
type LeaseFields = Omit<V1LeaseSpec, 'renewTime' | 'acquireTime'> & {
  readonly renewTime: string;
  readonly acquireTime?: string;
};

function specOf({ holder, durationSeconds, transitions, ...at }: LeaseRecord): LeaseFields {
  const { acquiredAtMs, renewedAtMs } = at;
  return {
    holderIdentity: holder,
    leaseDurationSeconds: durationSeconds,
    leaseTransitions: transitions,
    renewTime: microTime(renewedAtMs),
    ...(acquiredAtMs !== undefined && { acquireTime: microTime(acquiredAtMs) }),
  };
}

function microTime(ms: number): string {
  return isoTime(ms).replace('Z', '000Z');
}

function leaseOf(lease: V1Lease): Lease {
  const { holderIdentity, leaseDurationSeconds, acquireTime, leaseTransitions } = lease.spec ?? {};
  const acquiredAtMs = epochMsOf(String(acquireTime));
  return {
    version: lease.metadata?.resourceVersion ?? '',
    holder: typeof holderIdentity === 'string' ? holderIdentity.slice(0, HOLDER_CHARS_MAX) : '',
    durationSeconds: countOf(leaseDurationSeconds),
    acquiredAtMs: Number.isNaN(acquiredAtMs) ? undefined : acquiredAtMs,
    transitions: countOf(leaseTransitions),
  };
}

/** Zero for what is no number: a lease for no time can be taken. */
function countOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? Math.max(0, value) : 0;
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
