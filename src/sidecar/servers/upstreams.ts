import { type Agent, buildConnector, type Dispatcher } from 'undici';
import type { Clock, Millis } from '../../framework/runtime.ts';
import { connectWithin } from '../../runtime/network/client/connect-within.ts';
import { interimAnswers } from '../../runtime/network/client/interim-answers.ts';
import { trustNamedAuthorities } from '../../runtime/network/client/named-authorities.ts';
import { PacedAgent } from '../../runtime/network/client/paced-agent.ts';
import type { UpstreamRole, UpstreamTls } from '../options/sidecar-options.ts';
import { slicedBody } from './sliced-body.ts';

interface UpstreamsOptions {
  readonly tls: UpstreamTls | undefined;
  readonly connectTimeoutMs: Millis;
  readonly clock: Clock;
}

export interface LegRequest {
  /** `host:port`. */
  readonly server: string;
  readonly method: Dispatcher.HttpMethod;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** In pieces. */
  readonly body: readonly Buffer[];
  readonly signal: AbortSignal;
  /** Called once, when the server has taken all bytes of the body, or gets no more. */
  readonly onBodyGone?: () => void;
}

/** Less than the 5 s for which model servers keep idle connections (uvicorn). */
const IDLE_MS = 4_000;
/** Servers with open connections at once. Requests name the servers, so their number is bounded. */
const ORIGINS_MAX = 1024;
/** The servers that are asked; a bootstrap server is one of a prefilling pod, without TLS. */
export type UpstreamServer = UpstreamRole | 'bootstrap';
/** Sends requests to model servers. */
export interface LegSender {
  request(role: UpstreamServer, request: LegRequest): Promise<Dispatcher.ResponseData>;
}
const SERVERS: readonly UpstreamServer[] = ['prefiller', 'decoder', 'encoder', 'bootstrap'];

/** The connections to model servers, by the part that they play. Redirects are not followed. */
export class Upstreams implements LegSender {
  readonly #options: UpstreamsOptions;
  readonly #agents: ReadonlyMap<UpstreamServer, Agent>;

  constructor(options: UpstreamsOptions) {
    this.#options = options;
    this.#agents = new Map(SERVERS.map((role) => [role, agentOf(role, options)]));
  }

  async request(
    role: UpstreamServer,
    { server, body, headers, onBodyGone = () => undefined, ...request }: LegRequest,
  ): Promise<Dispatcher.ResponseData> {
    const scheme = this.#isSecure(role) ? 'https' : 'http';
    const agent = this.#agents.get(role);
    if (agent === undefined) throw new Error(`there are no connections to a ${role}`);
    const sent = { ...request, origin: `${scheme}://${server}`, onInfo: interimAnswers() };
    const bytes = body.reduce((sum, { length }) => sum + length, 0);
    if (bytes === 0) {
      onBodyGone();
      return agent.request({ ...sent, headers });
    }
    const sized = { ...headers, 'content-length': String(bytes) };
    // undici would keep a Buffer until the end of the answer.
    return agent.request({ ...sent, headers: sized, body: slicedBody(body, onBodyGone) });
  }

  #isSecure(role: UpstreamServer): boolean {
    return role !== 'bootstrap' && this.#options.tls?.roles.includes(role) === true;
  }

  /** Aborts everything under way. */
  async close(): Promise<void> {
    await Promise.all([...this.#agents.values()].map((agent) => agent.destroy()));
  }
}

function agentOf(role: UpstreamServer, { tls, connectTimeoutMs, clock }: UpstreamsOptions): Agent {
  const rejectUnauthorized = role === 'bootstrap' || tls?.unverified.includes(role) !== true;
  if (tls !== undefined) trustNamedAuthorities();
  const connect = connectorFor({ timeout: 0, rejectUnauthorized }, tls?.ca);
  return new PacedAgent({
    clock,
    keepAliveTimeout: IDLE_MS,
    maxOrigins: ORIGINS_MAX,
    // Each stage has its own time limits.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: connectWithin(connect, connectTimeoutMs, clock),
  });
}

/** Connects with the authorities as they are then. A connector keeps sessions of TLS for the next. */
function connectorFor(
  options: buildConnector.BuildOptions,
  authorities: (() => string) | undefined,
): buildConnector.connector {
  if (authorities === undefined) return buildConnector(options);
  let ca = authorities();
  let connect = buildConnector({ ...options, ca });
  return (to, callback) => {
    const now = authorities();
    if (now !== ca) connect = buildConnector({ ...options, ca: now });
    ca = now;
    return connect(to, callback);
  };
}
