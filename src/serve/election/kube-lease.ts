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

/** A Lease has some hundred bytes. The election itself waits 4 s for an answer. */
const ANSWER = { bytesMax: 1024 * 1024, timeoutMs: 10_000 } as const;
/**
 * The most characters of a holder's name, which is logged and compared. Our pickers have shorter
 * names.
 */
const HOLDER_CHARS_MAX = 512;
const CONFLICT = 409;
const NOT_FOUND = 404;
/** An overloaded server answers this; it does not count as a refusal. */
const TOO_MANY = 429;

/** Where a Lease is. */
interface LeaseName {
  readonly namespace: string;
  readonly name: string;
}

/** A Lease of the API group `coordination.k8s.io`. */
export class KubeLease implements LeaseStore {
  readonly #access: ApiAccess;
  readonly #name: string;
  /** The path of all leases of its namespace. */
  readonly #leases: string;
  /** For messages. */
  readonly #what: string;
  /** Labels and other metadata are written back as they were read. */
  #metadata: V1ObjectMeta | undefined;

  constructor(access: ApiAccess, { namespace, name }: LeaseName) {
    this.#access = access;
    this.#name = name;
    this.#leases = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
    this.#what = `lease ${name} in namespace ${namespace}`;
  }

  async read(): Promise<Lease | undefined> {
    const path = `${this.#leases}/${this.#name}`;
    return this.#seen(
      await this.#ask({ path }).catch((error: unknown) => {
        if (apiStatusOf(error) === NOT_FOUND) return undefined;
        throw explained(`read ${this.#what}`, error);
      }),
    );
  }

  async write(record: LeaseRecord, before: Lease | undefined): Promise<Lease | undefined> {
    const question =
      before === undefined ? this.#creating(record) : this.#replacing(record, before);
    return this.#seen(
      await this.#ask(question).catch((error: unknown) => {
        const code = apiStatusOf(error);
        // A lease that was deleted since it was read has changed, too.
        if (code === CONFLICT || (code === NOT_FOUND && before !== undefined)) return undefined;
        throw explained(`write ${this.#what}`, error);
      }),
    );
  }

  #creating(record: LeaseRecord): ApiQuestion {
    const metadata = { name: this.#name };
    return { path: this.#leases, method: 'POST', body: bodyOf(metadata, record) };
  }

  /** The API server refuses it if the lease has changed since it was read. */
  #replacing(record: LeaseRecord, { version: resourceVersion }: Lease): ApiQuestion {
    const name = this.#name;
    const metadata = Object.assign({ name }, this.#metadata, { resourceVersion });
    return { path: `${this.#leases}/${name}`, method: 'PUT', body: bodyOf(metadata, record) };
  }

  async #ask(question: ApiQuestion): Promise<V1Lease> {
    const api = await connectApi(this.#access);
    try {
      return JSON.parse(await api.text(question, ANSWER)) as V1Lease;
    } finally {
      api.close();
    }
  }

  #seen(lease: V1Lease | undefined): Lease | undefined {
    this.#metadata = lease?.metadata;
    return lease && leaseOf(lease);
  }
}

function bodyOf(metadata: V1ObjectMeta, record: LeaseRecord): object {
  const kind = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' };
  return { ...kind, metadata, spec: specOf(record) };
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
