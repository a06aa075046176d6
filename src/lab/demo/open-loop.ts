import { setTimeout as sleep } from 'node:timers/promises';
import type { CompletionClient } from './completion-client.ts';
import type { PlannedRequest } from './demo-workload.ts';

export interface SentRequest {
  readonly promptTokens: number;
  readonly endpoint: string | undefined;
  readonly error: string | undefined;
  /** From when it was due, not from when it was sent: a late sender must not flatter the answer. */
  readonly ttftMs: number | undefined;
  /** How late the sender was. */
  readonly lateMs: number;
}

export interface OpenLoopResult {
  readonly requests: readonly SentRequest[];
  /** Tokens that came while requests were arriving. */
  readonly tokensWhileArriving: number;
  /** From the first request to the last. */
  readonly arrivingMs: number;
}

export interface OpenLoopOptions {
  readonly client: CompletionClient;
  readonly requests: readonly PlannedRequest[];
  readonly signal: AbortSignal;
  /** When each has had its first token, cut the answers still on their way. Else they are heard out. */
  readonly cutAfterFirstTokens: boolean;
  readonly onSent: (sent: number) => void;
}

/**
 * Sends each request when it is due, whatever has become of those before. Ends when all are answered or, after a cut, when
 * all have begun to be. Throws when `signal` aborts.
 */
export async function sendOpenLoop(options: OpenLoopOptions): Promise<OpenLoopResult> {
  const { client, requests, signal, cutAfterFirstTokens, onSent } = options;
  const cut = new AbortController();
  const ends = AbortSignal.any([signal, cut.signal]);
  const startedAt = performance.now();
  let arriving = true;
  let tokensWhileArriving = 0;
  const running: Promise<SentRequest>[] = [];
  const firstTokens: Promise<void>[] = [];

  const send = (request: PlannedRequest): void => {
    const dueAt = startedAt + request.atMs;
    const lateMs = performance.now() - dueAt;
    let ttftMs: number | undefined;
    const begun = Promise.withResolvers<void>();
    firstTokens.push(begun.promise);
    const hooks = {
      onFirstToken: () => {
        ttftMs = performance.now() - dueAt;
        begun.resolve();
      },
      onTokens: (count: number) => {
        if (arriving) tokensWhileArriving += count;
      },
    };
    running.push(
      client.complete(request, hooks, ends).then(({ error, endpoint }) => {
        begun.resolve();
        return { promptTokens: request.promptTokens, endpoint, error, ttftMs, lateMs };
      }),
    );
  };

  for (const [index, request] of requests.entries()) {
    const waitMs = startedAt + request.atMs - performance.now();
    if (waitMs > 0) await sleep(waitMs, undefined, { signal });
    send(request);
    onSent(index + 1);
  }
  const arrivingMs = performance.now() - startedAt;
  arriving = false;
  if (cutAfterFirstTokens) {
    await Promise.all(firstTokens);
    cut.abort();
  }
  const sent = await Promise.all(running);
  signal.throwIfAborted();
  return { requests: sent, tokensWhileArriving, arrivingMs };
}
