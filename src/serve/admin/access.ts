import { type BearerToken, bearerToken } from './bearer-token.ts';

/**
 * Who may ask for a page: anyone, readers of metrics, or administrators who read or change. `file`:
 * files without any data, for all whom the port answers at all, because a browser that opens a page
 * sends no token.
 */
export type Scope = 'open' | 'metrics' | 'file' | 'read' | 'change';

/** Why a request is not answered, with what to do about it. */
export interface AccessRefusal {
  readonly status: 401 | 403 | 429 | 503;
  readonly sentence: string;
}

/** What access depends on. */
export interface Caller {
  readonly headers: {
    readonly authorization?: string | undefined;
    readonly host?: string | undefined;
    readonly origin?: string | undefined;
    readonly [name: string]: string | string[] | undefined;
  };
  /** The addresses of the connection. */
  readonly socket: {
    readonly localAddress?: string | undefined;
    readonly remoteAddress?: string | undefined;
  };
}

export interface AccessOptions {
  /** The token of administrators. Without one, nothing can be changed. */
  readonly adminToken?: BearerToken | undefined;
  /** Administrators may also connect from other machines, with the token. */
  readonly remote?: boolean | undefined;
  /** Decides who may read `/metrics`; undefined lets everyone. */
  readonly metrics?: MetricsGuard | undefined;
}

/** Undefined where the bearer of the token may read the metrics. */
export type MetricsGuard = (
  token: string | undefined,
) => AccessRefusal | undefined | Promise<AccessRefusal | undefined>;

/**
 * Decides who may ask for which page of the metrics port. Health is open. `/debug` and actions are
 * for connections within this machine, and actions also need the token. Pages of other origins
 * cannot ask through a browser: their `Origin` differs, and a name of theirs that leads to this
 * machine (DNS rebinding) is not a local `Host`.
 */
export class Access {
  readonly #options: AccessOptions;

  constructor(options: AccessOptions) {
    this.#options = options;
  }

  /** Undefined where the request may be answered. */
  refusal(
    scope: Scope,
    caller: Caller,
  ): AccessRefusal | undefined | Promise<AccessRefusal | undefined> {
    if (scope === 'open') return undefined;
    const token = bearerToken(caller.headers.authorization);
    if (scope === 'metrics') return this.#options.metrics?.(token);
    const { adminToken, remote = false } = this.#options;
    if (scope === 'file' && (remote || isLocal(caller))) return undefined;
    if (isForeign(caller)) return refused('a page of another origin may not ask this');
    const isAdmin = adminToken?.accepts(token) === true;
    if (!isLocal(caller) && !remote) {
      return refused(
        'only connections to a loopback address may ask this: use ssh, kubectl port-forward, or ' +
          'start the picker with --admin-remote and --admin-token-file',
      );
    }
    if (isAdmin) return undefined;
    if (scope === 'change' && adminToken === undefined) {
      return refused('nothing can be changed here: start the picker with --admin-token-file');
    }
    if (scope === 'change' || !isLocal(caller)) return tokenMissing(token);
    return isLocalName(caller.headers.host)
      ? undefined
      : refused('Host must be localhost or an address of the loopback, such as 127.0.0.1:9090');
  }
}

function refused(sentence: string): AccessRefusal {
  return { status: 403, sentence };
}

function tokenMissing(token: string | undefined): AccessRefusal {
  const what = token === undefined ? 'needs the token' : 'needs another token: this is not the one';
  const sentence = `this ${what} of the picker’s --admin-token-file, as Authorization: Bearer …`;
  return { status: 401, sentence };
}

/**
 * Whether a browser sent the request for a page of another origin. Other clients send no such
 * header.
 */
function isForeign({ headers }: Caller): boolean {
  const { host, origin, 'sec-fetch-site': site = 'none' } = headers;
  if (site !== 'none' && site !== 'same-origin') return true;
  return origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`;
}

/** Proxies add one of these for a request of another machine. */
const FORWARDED = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'] as const;

/**
 * Both ends must be on the loopback. A service mesh delivers requests of other machines from a
 * loopback address, but to the address of the pod.
 */
function isLocal({ headers, socket: { localAddress, remoteAddress } }: Caller): boolean {
  if (FORWARDED.some((name) => headers[name] !== undefined)) return false;
  return isLoopback(localAddress) && isLoopback(remoteAddress);
}

function isLoopback(address: string | undefined): boolean {
  return /^(?:(?:::ffff:)?127\.\d+\.\d+\.\d+|::1)$/.test(address ?? '');
}

function isLocalName(host: string | undefined): boolean {
  return /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?$/i.test(host ?? '');
}
