import type { Mutable } from '../../src/framework/values/mutable.ts';
import { Connection, type Reply } from './connection.ts';

export interface LoadCounts {
  readonly completed: number;
  /** Broken connections and answers other than 2xx. */
  readonly failed: number;
  /** Chunks of all answers, whole ones and those under way. */
  readonly pieces: number;
  /** In an open loop: requests that were due while every connection was busy. */
  readonly skipped: number;
}

export interface Load {
  /** A copy of the counts since the start. */
  counts(): LoadCounts;
  stop(): void;
}

/** Pause before the next request after a failure. */
const AFTER_FAILURE_MS = 20;
const TICK_MS = 1;
/**
 * Open-loop requests in flight. With more, the target does not keep up and longer queues say
 * nothing new.
 */
const OPEN_CONNECTIONS_MAX = 1024;

/**
 * Starts `connections` clients, each of which sends the next request as soon as it has an answer.
 */
export function startClosedLoop(options: {
  readonly port: number;
  readonly connections: number;
  readonly next: () => Buffer;
}): Load {
  const counts = noCounts();
  const all = Array.from({ length: options.connections }, () => new Connection(options.port));
  let stopped = false;
  const ask = (connection: Connection): void => {
    if (stopped) return;
    connection.send(options.next(), (reply) => {
      if (count(counts, reply)) ask(connection);
      else setTimeout(() => ask(connection), AFTER_FAILURE_MS);
    });
  };
  for (const connection of all) ask(connection);
  return {
    counts: () => withPiecesSoFar(counts, all),
    stop: () => {
      stopped = true;
      for (const connection of all) connection.close();
    },
  };
}

/**
 * Sends requests at a constant rate, independent of the answers. Calls `onLatency` for each answer
 * with the milliseconds since the request was due, which may be before a busy client sent it.
 */
export function startOpenLoop(options: {
  readonly port: number;
  readonly perSecond: number;
  readonly next: () => Buffer;
  readonly onLatency?: (ms: number) => void;
  /** Requests in flight at most; others that are due are skipped. */
  readonly atOnceMax?: number;
}): Load {
  const counts = noCounts();
  const { atOnceMax = OPEN_CONNECTIONS_MAX } = options;
  const idle: Connection[] = [];
  const all = new Set<Connection>();
  const startedAt = performance.now();
  const gapMs = 1000 / options.perSecond;
  let due = 0;
  const sendDue = (): void => {
    const now = performance.now() - startedAt;
    for (; due * gapMs <= now; due++) {
      const connection = idle.pop() ?? opened(all, options.port, atOnceMax);
      if (connection === undefined) {
        counts.skipped += 1;
        continue;
      }
      const dueAt = startedAt + due * gapMs;
      connection.send(options.next(), (reply) => {
        idle.push(connection);
        if (count(counts, reply)) options.onLatency?.(performance.now() - dueAt);
      });
    }
  };
  const timer = setInterval(sendDue, TICK_MS);
  return {
    counts: () => withPiecesSoFar(counts, all),
    stop: () => {
      clearInterval(timer);
      for (const connection of all) connection.close();
    },
  };
}

function opened(all: Set<Connection>, port: number, most: number): Connection | undefined {
  if (all.size >= most) return undefined;
  const connection = new Connection(port);
  all.add(connection);
  return connection;
}

function noCounts(): Mutable<LoadCounts> {
  return { completed: 0, failed: 0, pieces: 0, skipped: 0 };
}

function withPiecesSoFar(counts: LoadCounts, connections: Iterable<Connection>): LoadCounts {
  let { pieces } = counts;
  for (const { piecesSoFar } of connections) pieces += piecesSoFar;
  return { ...counts, pieces };
}

function count(counts: Mutable<LoadCounts>, reply: Reply | undefined): boolean {
  const good = reply !== undefined && reply.status >= 200 && reply.status < 300;
  if (good) {
    counts.completed += 1;
    counts.pieces += reply.pieces;
  } else counts.failed += 1;
  return good;
}
