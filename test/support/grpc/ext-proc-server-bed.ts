import { join } from 'node:path';
import {
  type ChannelCredentials,
  type Client,
  type ClientDuplexStream,
  type ClientOptions,
  credentials,
  loadPackageDefinition,
  type ServiceClientConstructor,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import {
  type ExtProcServer,
  type ExtProcServerOptions,
  startExtProcServer,
} from '../../../src/extproc/server/ext-proc-server.ts';
import { limitsFor } from '../../../src/extproc/server/port/server-limits.ts';
import type { Router } from '../../../src/framework/routing.ts';
import { createOpenBody, headerOnlyRequest } from '../../../src/openai/parsers/open-body.ts';
import { nodeClock } from '../../../src/runtime/clock/node-clock.ts';
import { reservingRouter } from '../session/reserving-server.ts';

const MiB = 1024 * 1024;
const loaded = loadPackageDefinition(
  loadSync('envoy/service/ext_proc/v3/external_processor.proto', {
    includeDirs: [join(import.meta.dirname, '..', '..', '..', 'proto')],
    keepCase: true,
  }),
) as unknown as {
  readonly envoy: {
    readonly service: {
      readonly ext_proc: { readonly v3: { readonly ExternalProcessor: ServiceClientConstructor } };
    };
  };
};
const { ExternalProcessor } = loaded.envoy.service.ext_proc.v3;

type Stream = ClientDuplexStream<object, Record<string, never>>;
interface ProcessorClient extends Client {
  Process(): Stream;
}

/** Servers and clients of one test, and the reservations of its requests. */
export class ExtProcServerBed {
  /** One for each test: what a test leaves open may be given back only during the next one. */
  #reserving = reservingRouter();
  /** Called at the end of the test, the last one first. */
  readonly stops: (() => Promise<void> | void)[] = [];
  readonly route: Router['route'] = (request) => this.#reserving.route(request);
  readonly session: ExtProcServerOptions['session'] = {
    router: { route: this.route },
    openBody: createOpenBody({ bodyBytesMax: 16 * MiB, hashSeed: 1 }),
    headerOnly: headerOnlyRequest,
    earlyPickBytes: 1000,
    halfCloseAfterPick: false,
    onFault: (error: unknown) => {
      throw error;
    },
    onRefused: () => undefined,
  };

  begin(): void {
    this.#reserving = reservingRouter();
  }

  held(): number {
    return this.#reserving.held();
  }

  async end(): Promise<void> {
    for (const stop of this.stops.splice(0).reverse()) await stop();
  }

  async start(overrides: Partial<ExtProcServerOptions> = {}): Promise<ExtProcServer> {
    const server = await startExtProcServer({
      host: '127.0.0.1',
      port: 0,
      tls: 'plaintext',
      messageBytesMax: 16 * MiB,
      session: this.session,
      limits: limitsFor(2 ** 30),
      clock: nodeClock(),
      ...overrides,
    });
    this.stops.push(() => server.drain({ noticeMs: 0, deadlineMs: 0 }));
    server.setServing(true);
    return server;
  }

  client(
    port: number,
    channel: ChannelCredentials = credentials.createInsecure(),
    options: ClientOptions = {},
  ): ProcessorClient {
    const made = new ExternalProcessor(`127.0.0.1:${port}`, channel, {
      ...options,
      'grpc.max_receive_message_length': -1,
    }) as unknown as ProcessorClient;
    this.stops.push(() => made.close());
    return made;
  }
}

export const HEADERS: object = {
  request_headers: {
    headers: {
      headers: [
        { key: ':method', raw_value: Buffer.from('POST') },
        { key: ':path', raw_value: Buffer.from('/v1/completions') },
      ],
    },
  },
};

export function body(content: Buffer, end_of_stream: boolean = true): object {
  return { request_body: { body: content, end_of_stream } };
}

/** Collects answers until there are `enough` or the stream ends. */
export function answers(
  stream: Stream,
  enough: number = Number.POSITIVE_INFINITY,
): Promise<readonly Record<string, never>[]> {
  return new Promise((resolve, reject) => {
    const all: Record<string, never>[] = [];
    stream.on('data', (answer: Record<string, never>) => {
      all.push(answer);
      if (all.length >= enough) resolve(all);
    });
    stream.on('end', () => resolve(all));
    stream.on('error', reject);
  });
}
