import type { EndpointId } from '../../../framework/endpoint.ts';
import type { Clock, Millis, Network } from '../../../framework/runtime.ts';
import type { EndpointSink, EndpointSpec } from '../../../picker/pool/endpoint-pool.ts';
import type { Log } from '../../../runtime/log/log.ts';
import { hostPort, isAddress, splitHostPort } from '../file/host-port.ts';
import { type FollowedName, NameFollower } from './follow-name.ts';
import { NameLog } from './log-names.ts';

interface ResolvedEndpointsOptions {
  readonly pool: EndpointSink;
  readonly resolve: NonNullable<Network['resolve']>;
  readonly clock: Clock;
  /** How long the last addresses of a name are kept while it cannot be resolved. */
  readonly keepMs: Millis;
  readonly log: Pick<Log, 'info' | 'warn'>;
}

/** What discovery has listed, and what of it is in the pool. */
interface Listed {
  spec: EndpointSpec;
  readonly name: string;
  readonly port: number;
  /** The endpoints in the pool, by `address:port`. An address keeps its id while it is there. */
  readonly ids: Map<string, EndpointId>;
  /** The address of the endpoint that has the listed id, while there is one. */
  ownAddress: string | undefined;
  /** Its addresses that belong to another endpoint. */
  shared: ReadonlySet<string>;
}

/** A host name and the endpoints that are listed with it. */
interface Followed {
  readonly follower: NameFollower;
  readonly listed: Set<Listed>;
}

/**
 * Puts endpoints into the pool by address, as proxies take no names. An endpoint with a host name
 * is one for each address of the name, and follows the name. The first has the listed id, and
 * further ones have their address behind it: `id@address`.
 */
export class ResolvedEndpoints {
  readonly #options: ResolvedEndpointsOptions;
  readonly #listed = new Map<EndpointId, Listed>();
  readonly #names = new Map<string, Followed>();
  /** The entry of each `address:port`: two endpoints with one address would be one server. */
  readonly #owners = new Map<string, Listed>();
  /** The entries of further addresses, by their ids in the pool. */
  readonly #further = new Map<EndpointId, Listed>();
  /** Endpoints of which some address belongs to another, so that a removal looks at few. */
  readonly #sharing = new Set<Listed>();
  readonly #log: NameLog;

  constructor(options: ResolvedEndpointsOptions) {
    this.#options = options;
    const stateOf = (name: string): FollowedName | undefined => this.#names.get(name)?.follower.now;
    this.#log = new NameLog({ ...options, stateOf });
  }

  /** Adds or replaces an endpoint, as a pool does; its address may have a host name. */
  upsert(spec: EndpointSpec): void {
    const known = this.#listed.get(spec.id);
    if (known?.spec.address === spec.address) {
      known.spec = spec;
      for (const [address, id] of known.ids) this.#put(known, id, address);
      return;
    }
    const { host, port } = splitHostPort(spec.address);
    const name = host.toLowerCase();
    const listed: Listed = {
      spec,
      name,
      port,
      ids: new Map(),
      ownAddress: undefined,
      shared: new Set(),
    };
    // Before the former entry goes, so that what is known of a name stays.
    const followed = isAddress(host) ? undefined : this.#followed(name);
    followed?.listed.add(listed);
    if (known !== undefined) this.remove(spec.id);
    this.#listed.set(spec.id, listed);
    this.#giveWay(spec.id);
    this.#place(listed, followed === undefined ? [host] : (followed.follower.now?.addresses ?? []));
  }

  remove(id: EndpointId): void {
    const listed = this.#listed.get(id);
    if (listed === undefined) return;
    this.#listed.delete(id);
    const followed = this.#names.get(listed.name);
    followed?.listed.delete(listed);
    if (followed?.listed.size === 0) {
      followed.follower.stop();
      this.#names.delete(listed.name);
      this.#log.changed(listed.name);
    }
    this.#place(listed, []);
  }

  /** Resolves when every name so far has been asked for once. */
  async asked(): Promise<void> {
    await Promise.all([...this.#names.values()].map(({ follower }) => follower.asked));
  }

  /** The host names that have been asked for. */
  names(): readonly FollowedName[] {
    return [...this.#names.values()].flatMap(({ follower }) => follower.now ?? []);
  }

  stop(): void {
    for (const { follower } of this.#names.values()) follower.stop();
    this.#log.stop();
  }

  #followed(name: string): Followed {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    const listed = new Set<Listed>();
    const onChange = (now: FollowedName): void => {
      this.#log.changed(name);
      for (const each of listed) this.#place(each, now.addresses);
    };
    const follower = new NameFollower({ ...this.#options, name, onChange });
    const followed = { follower, listed };
    this.#names.set(name, followed);
    return followed;
  }

  /** Makes the endpoints in the pool those of these addresses. */
  #place(listed: Listed, hosts: readonly string[]): void {
    const { pool } = this.#options;
    const wanted = new Map(hosts.map((host) => [hostPort(host, listed.port), host]));
    let released = false;
    for (const [address, id] of listed.ids) {
      if (wanted.has(address)) continue;
      listed.ids.delete(address);
      if (listed.ownAddress === address) listed.ownAddress = undefined;
      this.#owners.delete(address);
      this.#further.delete(id);
      pool.remove(id);
      released = true;
    }
    const sharedBefore = listed.shared;
    listed.shared = new Set([...wanted.keys()].filter((each) => this.#isOthers(each, listed)));
    if (listed.shared.size > 0) this.#sharing.add(listed);
    else this.#sharing.delete(listed);
    for (const [address, host] of wanted) {
      if (!listed.shared.has(address)) this.#add(listed, address, host);
      else if (!sharedBefore.has(address)) this.#logShared(listed, address);
    }
    if (released) this.#placeSharing(listed);
  }

  #isOthers(address: string, listed: Listed): boolean {
    return (this.#owners.get(address) ?? listed) !== listed;
  }

  #logShared({ spec }: Listed, address: string): void {
    const fields = { endpoint: spec.id, address, sameAs: this.#owners.get(address)?.spec.id };
    this.#options.log.warn(fields, 'two endpoints have the same address; the first one counts');
  }

  #add(listed: Listed, address: string, host: string): void {
    if (this.#owners.has(address)) return;
    this.#owners.set(address, listed);
    if (listed.ownAddress === undefined) {
      listed.ownAddress = address;
      listed.ids.set(address, listed.spec.id);
    } else listed.ids.set(address, this.#furtherId(listed, host));
    this.#put(listed, listed.ids.get(address) ?? listed.spec.id, address);
  }

  /** An id for a further address, which no listed endpoint has. */
  #furtherId(listed: Listed, host: string): EndpointId {
    let id = `${listed.spec.id}@${host}` as EndpointId;
    while (this.#listed.has(id)) id = `${id}@` as EndpointId;
    this.#further.set(id, listed);
    return id;
  }

  /** A further address that has the id of an endpoint that is listed now gets another one. */
  #giveWay(id: EndpointId): void {
    const listed = this.#further.get(id);
    const [address] = [...(listed?.ids ?? [])].find(([, each]) => each === id) ?? [];
    if (listed === undefined || address === undefined) return;
    this.#further.delete(id);
    this.#options.pool.remove(id);
    const other = this.#furtherId(listed, splitHostPort(address).host);
    listed.ids.set(address, other);
    this.#put(listed, other, address);
  }

  #put({ spec: { labels }, name }: Listed, id: EndpointId, address: string): void {
    const hostName = isAddress(name) ? undefined : name;
    this.#options.pool.upsert({ id, address, hostName, labels });
  }

  /** Gives addresses that have become free to other entries that resolve to them. */
  #placeSharing(releasing: Listed): void {
    for (const each of this.#sharing) {
      if (each === releasing) continue;
      const addresses = this.#names.get(each.name)?.follower.now?.addresses;
      this.#place(each, addresses ?? [splitHostPort(each.spec.address).host]);
    }
  }
}
