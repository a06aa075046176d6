import type { RecordWithTtl } from 'node:dns';
import { lookup, Resolver } from 'node:dns/promises';
import type { ResolvedName } from '../../framework/runtime.ts';

/** For each server of /etc/resolv.conf and try. */
const TIMEOUT_MS = 2000;
const TRIES = 2;
/** The name exists not at all, or has no address of this kind. */
const NO_ADDRESS: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA']);

interface NameResolverOptions {
  /** `address:port` of DNS servers; those of the machine where left out. */
  readonly servers?: readonly string[] | undefined;
}

/**
 * Resolves names by DNS, which says how long answers hold. Names that DNS does not have are looked
 * up as the machine does: in its hosts file, and with its search domains.
 */
export class NameResolver {
  readonly #dns = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
  #lastLookup: Promise<unknown> = Promise.resolve();

  constructor({ servers }: NameResolverOptions = {}) {
    if (servers !== undefined) this.#dns.setServers(servers);
  }

  /** Rejects where the name has no address, or no server answers. */
  async resolve(name: string): Promise<ResolvedName> {
    if (/^(.*\.)?localhost$/i.test(name)) return this.#lookUp(name);
    let failure: unknown;
    try {
      const records = await this.#records(name);
      if (records.length > 0) return fromRecords(records);
    } catch (error) {
      failure = error;
    }
    // The hosts file has names while no DNS server answers, too.
    return this.#lookUp(name).catch((error: unknown) => {
      throw failure ?? error;
    });
  }

  close(): void {
    this.#dns.cancel();
  }

  /** Servers with both kinds of addresses must not count twice. */
  async #records(name: string): Promise<readonly RecordWithTtl[]> {
    const v4 = await this.#dns.resolve4(name, { ttl: true }).catch(noneOrThrow);
    return v4.length > 0 ? v4 : this.#dns.resolve6(name, { ttl: true }).catch(noneOrThrow);
  }

  /** One at a time: each occupies one of Node's few threads until the machine's time-out. */
  #lookUp(name: string): Promise<ResolvedName> {
    const lookUp = async (): Promise<ResolvedName> => {
      const found = await lookup(name, { all: true });
      const family = found.some((each) => each.family === 4) ? 4 : 6;
      const addresses = found.filter((each) => each.family === family);
      return { addresses: addresses.map(({ address }) => address), ttlMs: undefined };
    };
    const next = this.#lastLookup.then(lookUp, lookUp);
    this.#lastLookup = next;
    return next;
  }
}

function noneOrThrow(error: Error & { readonly code?: string }): readonly RecordWithTtl[] {
  if (NO_ADDRESS.has(error.code ?? '')) return [];
  throw error;
}

function fromRecords(records: readonly RecordWithTtl[]): ResolvedName {
  return {
    addresses: records.map(({ address }) => address),
    ttlMs: 1000 * Math.min(...records.map(({ ttl }) => ttl)),
  };
}
