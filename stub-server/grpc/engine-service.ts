import {
  type ConnectionInjector,
  type Metadata,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { packageFile } from '../../src/files/folders.ts';
import { messageOf } from '../../src/framework/error.ts';
import type { Recipient } from '../http/answers/reply.ts';
import { vectorOf } from '../http/apis/embeddings.ts';
import { generate } from '../http/apis/generate.ts';
import { ApiError } from '../http/replica/api-error.ts';
import { rankOf, ranksAtAddress, type StubReplica } from '../http/replica/stub-replica.ts';
import type { ReplicaDirectory } from '../http/requests/sequence-kv.ts';
import { grpcReply } from './grpc-reply.ts';
import { type GenerateMessage, type Input, readGenerate, tokensOf } from './read-generate.ts';

const PROTO = 'proto/vllm/grpc/engine/vllm_engine.proto';
const SERVICE = 'vllm.grpc.engine.VllmEngine';
/** gRPC's status for each HTTP status. */
const STATUSES: ReadonlyMap<number, status> = new Map([
  [400, status.INVALID_ARGUMENT],
  [401, status.UNAUTHENTICATED],
  [403, status.PERMISSION_DENIED],
  [404, status.NOT_FOUND],
  [429, status.RESOURCE_EXHAUSTED],
  [503, status.UNAVAILABLE],
]);

type GenerateStream = ServerWritableStream<GenerateMessage, object>;
type Unary<Request> = ServerUnaryCall<Request, object>;

/** vLLM's gRPC service of one server, for connections that are handed to it. */
export function startEngineService(
  replica: StubReplica,
  findReplica: ReplicaDirectory,
): { readonly connections: ConnectionInjector; stop(): void } {
  const definitions = loadSync(packageFile(PROTO), { keepCase: true, longs: Number });
  const server = new Server({ 'grpc.max_receive_message_length': -1 });
  server.addService(
    definitions[SERVICE] as ServiceDefinition,
    handlers(replica, findReplica) as Readonly<Record<string, never>>,
  );
  const connections = server.createConnectionInjector(ServerCredentials.createInsecure());
  return { connections, stop: () => server.forceShutdown() };
}

function handlers(replica: StubReplica, findReplica: ReplicaDirectory): object {
  const { clock } = replica;
  const startedAt = clock.now();
  const answering = new Map<string, () => void>();
  let requests = 0;
  let lastAt = 0;
  return {
    Generate: (call: GenerateStream) => {
      requests += 1;
      lastAt = clock.wallTime() / 1000;
      const id = call.request.request_id || `${replica.name}-grpc-${requests}`;
      begin(call, { id, replica, findReplica, answering });
    },
    Embed: ({ request }: Unary<{ tokenized?: Input }>, answer: sendUnaryData<object>) =>
      respond(answer, () => embeddingOf(tokensOf(request.tokenized), replica)),
    HealthCheck: (_: unknown, answer: sendUnaryData<object>) =>
      respond(answer, () => {
        const healthy = clock.now() >= replica.readyAt;
        return { healthy, message: healthy ? 'Health' : 'starting' };
      }),
    Abort: ({ request }: Unary<{ request_ids?: string[] }>, answer: sendUnaryData<object>) => {
      for (const id of request.request_ids ?? []) answering.get(id)?.();
      answer(null, {});
    },
    GetModelInfo: (_: unknown, answer: sendUnaryData<object>) => answer(null, modelInfo(replica)),
    GetServerInfo: (_: unknown, answer: sendUnaryData<object>) =>
      answer(null, {
        active_requests: ranksAtAddress(replica).reduce(
          (sum, { engine }) => sum + engine.runningCount + engine.waitingCount,
          0,
        ),
        is_paused: replica.engine.asleep,
        last_receive_timestamp: lastAt,
        uptime_seconds: (clock.now() - startedAt) / 1000,
        server_type: 'vllm-grpc',
      }),
  };
}

function embeddingOf(ids: ReturnType<typeof tokensOf>, { options }: StubReplica): object {
  const embedding = [...vectorOf(ids, options.embeddingDimensions)];
  return { embedding, prompt_tokens: ids.length, embedding_dim: embedding.length };
}

function modelInfo({ options, contextTokensMax }: StubReplica): object {
  return {
    model_path: options.modelRoot ?? options.model,
    is_generation: true,
    max_context_length: contextTokensMax,
    vocab_size: 128_256,
    supports_vision: true,
  };
}

interface Beginning {
  readonly id: string;
  readonly replica: StubReplica;
  readonly findReplica: ReplicaDirectory;
  /** What aborts each request that is being answered, by its id. */
  readonly answering: Map<string, () => void>;
}

function begin(call: GenerateStream, { id, replica, findReplica, answering }: Beginning): void {
  // A server that hangs leaves its clients waiting.
  if (replica.faults.reception === 'ignore') return;
  const headers = headersOf(call.metadata);
  try {
    if (replica.faults.reception === 'reset') throw new ApiError(503, 'the server has crashed');
    const rank = rankOf(headers, replica);
    const request = readGenerate(call.request, rank.options.model);
    const parts = { replica: rank, findReplica, requestId: id, headers };
    const recipient = recipientOf(call, request.stream);
    generate(request, { ...parts, receivedAt: rank.clock.now() }, recipient);
    answering.set(id, () => {
      call.write({ complete: { finish_reason: 'abort' } });
      call.end();
      call.emit('close');
    });
    call.once('close', () => answering.delete(id));
  } catch (error) {
    fail(call, error);
  }
}

function recipientOf(call: GenerateStream, stream: boolean): Recipient {
  return {
    begin: (_, [sequence]) => {
      if (sequence === undefined) throw new ApiError(500, 'a request has one prompt');
      return grpcReply(sequence, {
        stream,
        write: (message) => void call.write(message),
        end: (error) => {
          if (error === undefined) call.end();
          else fail(call, new ApiError(500, error));
        },
      });
    },
    cut: () => fail(call, new ApiError(503, 'the connection is cut')),
    onClosed: (callback) => {
      call.once('close', callback);
      call.once('cancelled', callback);
    },
  };
}

function respond(answer: sendUnaryData<object>, message: () => object): void {
  try {
    answer(null, message());
  } catch (error) {
    answer(statusOf(error));
  }
}

function fail(call: GenerateStream, error: unknown): void {
  call.emit('error', statusOf(error));
}

function statusOf(error: unknown): { readonly code: status; readonly details: string } {
  const code = error instanceof ApiError ? STATUSES.get(error.status) : undefined;
  return { code: code ?? status.INTERNAL, details: messageOf(error) };
}

function headersOf(metadata: Metadata): Readonly<Record<string, string>> {
  const entries = Object.entries(metadata.getMap()).map(([name, value]) => [name, String(value)]);
  return Object.fromEntries(entries) as Readonly<Record<string, string>>;
}
