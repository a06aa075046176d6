import dns, { type LookupAddress, type LookupOptions } from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';
import { isIP } from 'node:net';
import { performance } from 'node:perf_hooks';
import type { Millis } from '../../framework/runtime.ts';

type Found = LookupAddress | LookupAddress[];
type Callback = (error: Error | null, found?: string | LookupAddress[], family?: number) => void;

interface Parts {
  /** Looks a name up as the machine does, in one of Node's few threads. */
  readonly lookUp: (name: string, options: LookupOptions) => Promise<Found>;
  readonly now: () => Millis;
}

/** A lookup that fails after so long has waited for a DNS server that does not answer. */
const SILENT_MS: Millis = 1000;
/** The last names for which no DNS server has answered. */
const SILENT_NAMES_MAX = 256;
/** Callers that wait for one lookup: a client that gives up early asks some times a second. */
const WAITING_MAX = 1000;

/**
 * Lookups of host names, in which those that DNS servers do not answer leave room for others. Node
 * has two threads for them, and one lookup may take 40 s. A name is looked up once at a time,
 * however often it is asked for, and names without an answer one after another.
 */
export class SharedLookups {
  readonly #parts: Parts;
  readonly #open = new Map<string, { readonly found: Promise<Found>; waiting: number }>();
  readonly #silent = new Set<string>();
  #lastSilent: Promise<unknown> = Promise.resolve();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  lookUp(name: string, options: LookupOptions): Promise<Found> {
    const { family, hints, all, order, verbatim } = options;
    const key = JSON.stringify([name, family, hints, all, order, verbatim]);
    const open = this.#open.get(key);
    if (open !== undefined) {
      open.waiting += 1;
      return open.waiting > WAITING_MAX ? Promise.reject(tooMany(name)) : open.found;
    }
    const ask = (): Promise<Found> => this.#ask(name, options);
    const isSilent = this.#silent.has(name);
    const asked = isSilent ? this.#lastSilent.then(ask, ask) : ask();
    if (isSilent) this.#lastSilent = asked;
    const found = asked.finally(() => this.#open.delete(key));
    this.#open.set(key, { found, waiting: 1 });
    return found;
  }

  async #ask(name: string, options: LookupOptions): Promise<Found> {
    const { lookUp, now } = this.#parts;
    const from = now();
    this.#silent.delete(name);
    try {
      return await lookUp(name, options);
    } catch (error) {
      if (now() - from >= SILENT_MS) this.#remember(name);
      throw error;
    }
  }

  #remember(name: string): void {
    this.#silent.add(name);
    const [oldest] = this.#silent;
    if (this.#silent.size > SILENT_NAMES_MAX && oldest !== undefined) this.#silent.delete(oldest);
  }
}

function tooMany(name: string): Error {
  const message = `getaddrinfo EAI_AGAIN ${name}: ${WAITING_MAX} others wait for its lookup`;
  return Object.assign(new Error(message), { code: 'EAI_AGAIN', hostname: name });
}

/**
 * Has every lookup of this thread made so. The clients of gRPC, OpenTelemetry and HTTP call Node's
 * own `lookup`, and gRPC takes no other.
 */
export function shareLookups(): void {
  const promised = dns.promises.lookup;
  const called = dns.lookup;
  const shared = new SharedLookups({
    lookUp: (name, options) => promised(name, options),
    now: () => performance.now(),
  });
  const lookUp = (name: string, given: LookupOptions | number = {}): Promise<Found> => {
    const options = typeof given === 'number' ? { family: given } : given;
    return isName(name) ? shared.lookUp(name, options) : promised(name, options);
  };
  const lookUpAndCall = (name: string, ...rest: readonly unknown[]): void => {
    const callback = rest.at(-1) as Callback;
    const given = rest.length > 1 ? (rest[0] as LookupOptions | number) : {};
    // Node's own says what is wrong with arguments.
    if (!isName(name) || typeof callback !== 'function')
      return Reflect.apply(called, dns, [name, ...rest]);
    lookUp(name, given).then(
      (found) =>
        setImmediate(() =>
          Array.isArray(found)
            ? callback(null, found)
            : callback(null, found.address, found.family),
        ),
      (error: Error) => setImmediate(() => callback(error)),
    );
  };
  dns.lookup = Object.defineProperties(
    lookUpAndCall,
    Object.getOwnPropertyDescriptors(called),
  ) as typeof dns.lookup;
  dns.promises.lookup = lookUp as typeof dns.promises.lookup;
  syncBuiltinESMExports();
}

function isName(name: unknown): name is string {
  return typeof name === 'string' && name !== '' && isIP(name) === 0;
}
