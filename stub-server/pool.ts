import { readFileSync } from 'node:fs';
import type { Server as HttpServer } from 'node:http';
import type { Server, Socket } from 'node:net';
import type { Clock, Random } from '../src/framework/runtime.ts';
import { preciseClock } from '../src/runtime/clock/precise-clock.ts';
import { listen } from '../src/runtime/network/server/listen.ts';
import { seededRandom } from '../src/runtime/seeded-random.ts';
import { balanceRanks } from './balance-ranks.ts';
import { createControlServer } from './control-server.ts';
import { createStubReplica, KvNetwork } from './create-stub-replica.ts';
import { scheduleFaults } from './faults/active-faults.ts';
import { type AnswerTexts, ECHO, readDataset, textsOf } from './http/replica/answer-texts.ts';
import { ranksAtAddress, type StubReplica } from './http/replica/stub-replica.ts';
import type { ReplicaDirectory } from './http/requests/sequence-kv.ts';
import { createStubServer } from './http/server.ts';
import { sharePort, shareSecurePort } from './http/share-port.ts';
import type { KvEventPublisher } from './kv-events/kv-event-publisher.ts';
import type { KvEvents } from './kv-events-of.ts';
import { type EngineAddress, engineAddresses } from './options/engine-addresses.ts';
import type { StubOptions } from './options/stub-options.ts';
import type { PoolTls } from './tls.ts';

type StubEndpoint = Pick<StubReplica, 'address' | 'rank' | 'engine'>;

export interface StubPool {
  /** One for each address. */
  readonly endpoints: readonly StubEndpoint[];
  /** `host:port` of the control server, if there is one. */
  readonly control: string | undefined;
  /** ZMQ addresses of each engine's KV events, in order; empty without KV events. */
  readonly kvEvents: readonly Pick<KvEventPublisher, 'endpoint' | 'replayEndpoint'>[];
  stop(): Promise<void>;
}

/** Starts a pool of equal model servers in this process. */
export function startStubPool(options: StubOptions): Promise<StubPool> {
  return startMixedPool(Array.from({ length: options.count }, () => options));
}

/**
 * Starts a pool of model servers, each with its own options. Host, ports, speed, seed and faults
 * are those of the first. `controlPort` serves the pool's state and faults; 0 takes a free port.
 */
export async function startMixedPool(
  servers: readonly StubOptions[],
  { controlPort }: { readonly controlPort?: number | undefined } = {},
): Promise<StubPool> {
  const [common] = servers;
  if (common === undefined) throw new Error('a pool needs at least one server');
  const clock = scaledClock(preciseClock(), common.speed);
  const pool: StartingPool = {
    clock,
    random: seededRandom(common.seed),
    kvNetwork: new KvNetwork(clock),
    ranks: servers.map(() => []),
    byAddress: new Map(),
    listening: [],
    publishers: [],
    tls: await tlsOf(common),
  };
  const places = engineAddresses(servers);
  for (const place of places) await addReplica(pool, place, servers[place.server] ?? common);
  const { ranks, listening, publishers } = pool;
  for (const each of ranks) balanceRanks(each, clock);
  const fronts = await serveFronts(pool, places);
  const control = await startControl(pool, common.host, controlPort);
  const faults = ranks.map((siblings) => siblings.map((replica) => replica.faults));
  const schedule = scheduleFaults(common.faults, faults, clock);
  return {
    endpoints: fronts.map(({ address, rank, engine }) => ({ address, rank, engine })),
    control,
    kvEvents: publishers.map(({ endpoint, replayEndpoint }) => ({ endpoint, replayEndpoint })),
    stop: async () => {
      schedule.stop();
      await Promise.all(listening.map((each) => each.close()));
      await Promise.all(publishers.map((publisher) => publisher.close()));
      await pool.tls?.stop();
    },
  };
}

/** The first replica of each address, which serves it. */
async function serveFronts(
  pool: StartingPool,
  places: ReturnType<typeof engineAddresses>,
): Promise<readonly StubReplica[]> {
  const replicas = pool.ranks.flat();
  const fronts = replicas.filter((replica) => ranksAtAddress(replica)[0] === replica);
  for (const front of fronts) {
    const at = places[replicas.indexOf(front)];
    if (at !== undefined) await serveAt(pool, at, front);
  }
  return fronts;
}

/** Its address; undefined without a port. */
async function startControl(
  { ranks, listening }: StartingPool,
  host: string,
  port: number | undefined,
): Promise<string | undefined> {
  if (port === undefined) return undefined;
  const server = createControlServer(ranks.flat());
  const address = `${host}:${await listen(server, host, port)}`;
  listening.push(closing(server, server));
  return address;
}

interface StartingPool {
  readonly clock: Clock;
  readonly random: Random;
  readonly kvNetwork: KvNetwork;
  /** The replicas by server, then by rank. */
  readonly ranks: StubReplica[][];
  readonly byAddress: Map<string, StubReplica>;
  readonly listening: Listening[];
  readonly publishers: KvEventPublisher[];
  readonly tls: PoolTls | undefined;
}

/**
 * Loaded only where it is used: a process of hundreds of servers has most of its memory in code.
 */
async function tlsOf({ tls }: StubOptions): Promise<PoolTls | undefined> {
  if (tls === undefined) return undefined;
  return (await import('./tls.ts')).startTls(tls);
}

/** Loaded only where it is used: ZMQ and msgpack take much memory. */
async function kvEventsOf(
  options: StubOptions,
  place: EngineAddress,
  clock: Clock,
): Promise<KvEvents | undefined> {
  if ((options.kvEventsTarget ?? options.kvEventsPort) === undefined) return undefined;
  return (await import('./kv-events-of.ts')).kvEventsOf(options, place, clock);
}

/** Adds an engine to the pool. */
async function addReplica(
  pool: StartingPool,
  place: EngineAddress,
  options: StubOptions,
): Promise<void> {
  const { clock, random, kvNetwork, publishers } = pool;
  const { server: index, rank } = place;
  const ranks = pool.ranks[index] ?? [];
  const name = `stub-${index}`;
  const own = random.fork(rank === 0 ? name : `${name} rank ${rank}`);
  const events = await kvEventsOf(options, place, clock);
  const texts = answerTexts(options);
  const parts = { options, place, clock, random: own, events, kvNetwork, ranks, texts };
  const replica = createStubReplica(name, parts);
  ranks.push(replica);
  await events?.publisher.open();
  if (events !== undefined) publishers.push(events.publisher);
}

/** Listens for requests to the ranks at an address, of which `replica` is the first. */
async function serveAt(
  { byAddress, listening, tls }: StartingPool,
  { host, port }: EngineAddress,
  replica: StubReplica,
): Promise<void> {
  const findReplica = (address: string): StubReplica | undefined => byAddress.get(address);
  const server = createStubServer(replica, findReplica);
  const front = withGrpc(server, { replica, findReplica, tls });
  const address = `${host}:${await listen(front, host, port)}`;
  for (const rank of ranksAtAddress(replica)) rank.address = address;
  listening.push(closing(front, server));
  byAddress.set(address, replica);
}

/** Reads the data set, if there is one. Throws ConfigError. */
function answerTexts({ mode, dataset }: StubOptions): AnswerTexts | undefined {
  if (mode === 'echo') return ECHO;
  if (dataset === undefined) return undefined;
  return textsOf(readDataset(readFileSync(dataset, 'utf8'), dataset));
}

/** Model time that runs `ratio` times as fast as `clock`. */
function scaledClock(clock: Clock, ratio: number): Clock {
  if (ratio === 1) return clock;
  const startedAt = clock.now();
  const wallStartedAt = clock.wallTime();
  return {
    now: () => (clock.now() - startedAt) * ratio,
    wallTime: () => wallStartedAt + (clock.now() - startedAt) * ratio,
    setTimer: (delay, callback) => clock.setTimer(delay / ratio, callback),
  };
}

interface Listening {
  close(): Promise<void>;
}

/** What closes a server and its connections, which `http` and gRPC serve. */
function closing(server: Server, http: HttpServer): Listening {
  const sockets = new Set<Socket>();
  if (server !== http) {
    server.on('connection', (socket: Socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    });
  }
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        http.closeAllConnections();
        for (const socket of sockets) socket.destroy();
      }),
  };
}

interface WithGrpcParts {
  readonly replica: StubReplica;
  readonly findReplica: ReplicaDirectory;
  readonly tls: PoolTls | undefined;
}

/** The server beside vLLM's gRPC service, which is loaded with the first client of HTTP/2. */
function withGrpc(http: HttpServer, { replica, findReplica, tls }: WithGrpcParts): Server {
  let service: Promise<{ readonly connections: { injectConnection(socket: Socket): void } }>;
  const start = async (): ReturnType<() => typeof service> =>
    (await import('./grpc/engine-service.ts')).startEngineService(replica, findReplica);
  const protocols = {
    http1: (socket: Socket) => void http.emit('connection', socket),
    http2: (socket: Socket) => {
      service ??= start();
      service.then(
        ({ connections }) => connections.injectConnection(socket),
        () => socket.destroy(),
      );
    },
  };
  const front = frontOf(protocols, tls);
  // With these events it watches the times of its connections, as if it listened itself.
  front.once('listening', () => http.emit('listening'));
  front.once('close', () => http.close());
  return front;
}

function frontOf(protocols: Parameters<typeof sharePort>[0], tls: PoolTls | undefined): Server {
  if (tls === undefined) return sharePort(protocols);
  const server = shareSecurePort(protocols, tls.pair);
  tls.follow(server);
  return server;
}
