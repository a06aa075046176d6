import {
  type ExtProcServerOptions,
  startExtProcServer,
} from '../../../src/extproc/server/ext-proc-server.ts';
import { limitsFor } from '../../../src/extproc/server/port/server-limits.ts';
import type { SessionOptions } from '../../../src/extproc/session/session.ts';
import type { StreamUsage } from '../../../src/extproc/streams/open-streams.ts';
import type { InferenceRequest } from '../../../src/framework/request.ts';
import type { RoutedRequest, Router } from '../../../src/framework/routing.ts';
import { createOpenBody, headerOnlyRequest } from '../../../src/openai/parsers/open-body.ts';
import { nodeClock } from '../../../src/runtime/clock/node-clock.ts';
import { inertRouted } from './inert-routed.ts';

const MiB = 1024 * 1024;

/** Sends every request to one endpoint, and counts those that are not yet given back. */
export function reservingRouter(): {
  readonly route: (request: InferenceRequest) => RoutedRequest;
  readonly held: () => number;
} {
  let held = 0;
  const route = (request: InferenceRequest): RoutedRequest => {
    held += 1;
    let over = false;
    return inertRouted({
      request,
      destinations: ['10.0.0.1:8000'],
      done: () => {
        if (!over) held -= 1;
        over = true;
      },
    });
  };
  return { route, held: () => held };
}

/** An ext_proc server that sends every request to one endpoint. */
export interface ReservingServer {
  readonly port: number;
  /** Requests routed and not yet given back. */
  reservations(): number;
  /** Streams open. */
  sessions(): number;
  /** Reasons of refusals, in their order. */
  readonly refused: string[];
  usage(): StreamUsage;
  drain(times: { readonly noticeMs: number; readonly deadlineMs: number }): Promise<void>;
}

export async function startReservingServer(
  overrides: Partial<ExtProcServerOptions> = {},
  router?: Router,
): Promise<ReservingServer> {
  const { route, held } = reservingRouter();
  const refused: string[] = [];
  const session: Omit<SessionOptions, 'newRequestId'> = {
    router: router ?? { route },
    openBody: createOpenBody({ bodyBytesMax: 64 * MiB, hashSeed: 1 }),
    headerOnly: headerOnlyRequest,
    earlyPickBytes: 128 * 1024,
    halfCloseAfterPick: false,
    onFault: (error) => {
      throw error;
    },
    onRefused: ({ code }) => void refused.push(code),
  };
  const server = await startExtProcServer({
    host: '127.0.0.1',
    port: 0,
    tls: 'plaintext',
    messageBytesMax: 64 * MiB,
    session,
    limits: limitsFor(2 ** 30),
    clock: nodeClock(),
    ...overrides,
  });
  server.setServing(true);
  const { port, sessions, usage, drain } = server;
  return { port, sessions, usage, drain, refused, reservations: held };
}
