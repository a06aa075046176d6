import { createHash } from 'node:crypto';
import {
  Server,
  ServerCredentials,
  type ServerWritableStream,
  type ServiceDefinition,
} from '@grpc/grpc-js';
import { VLLM_ENGINE } from './grpc-services.ts';

export interface GrpcUpstream {
  readonly address: string;
  /** The hashes of the messages that came, as they came. */
  readonly received: readonly string[];
  /** Sets the messages of later answers, and gRPC's status behind them. */
  answer(messages: readonly Buffer[], code?: number): void;
  stop(): void;
}

export const sha256 = (bytes: Uint8Array): string =>
  createHash('sha256').update(bytes).digest('hex');

/** A model server that speaks gRPC: it keeps the hashes of messages, and answers with bytes. */
export async function startGrpcUpstream(
  services: readonly ServiceDefinition[] = [VLLM_ENGINE],
): Promise<GrpcUpstream> {
  const received: string[] = [];
  let answers: readonly Buffer[] = [Buffer.alloc(0)];
  let status = 0;
  const server = new Server({ 'grpc.max_receive_message_length': -1 });
  for (const service of services) {
    const raw = Object.entries(service).map(([name, method]) => [
      name,
      {
        ...method,
        responseStream: true,
        requestDeserialize: (bytes: Buffer) => bytes,
        responseSerialize: (bytes: Buffer) => bytes,
      },
    ]);
    const handle = (call: ServerWritableStream<Buffer, Buffer>): void => {
      received.push(sha256(call.request));
      for (const message of answers) call.write(message);
      if (status === 0) call.end();
      else call.emit('error', { code: status, details: 'no' });
    };
    const handlers = Object.keys(service).map((name) => [name, handle]);
    server.addService(Object.fromEntries(raw), Object.fromEntries(handlers));
  }
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  return {
    address: `127.0.0.1:${port}`,
    received,
    answer: (messages, code = 0) => {
      answers = messages;
      status = code;
    },
    stop: () => server.forceShutdown(),
  };
}
