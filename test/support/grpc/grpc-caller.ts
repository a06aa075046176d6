import { Client, credentials, type ServiceError } from '@grpc/grpc-js';

export interface GrpcAnswer {
  readonly code: number;
  readonly details: string;
  readonly messages: readonly Buffer[];
  /** The headers, or the trailers where there is nothing else. */
  readonly metadata: Readonly<Record<string, unknown>>;
}

export interface GrpcCaller {
  /** Sends a message as it is, and collects the messages of the answer. */
  call(path: string, message: Buffer): Promise<GrpcAnswer>;
  close(): void;
}

/** A gRPC client for the gateway at `url`. */
export function grpcCaller(url: string): GrpcCaller {
  const client = new Client(new URL(url).host, credentials.createInsecure(), {
    'grpc.max_receive_message_length': -1,
  });
  const same = (bytes: Buffer): Buffer => bytes;
  return {
    call: (path, message) =>
      new Promise((resolve) => {
        const messages: Buffer[] = [];
        let metadata = {};
        const stream = client.makeServerStreamRequest(path, same, same, message);
        stream.on('metadata', (given) => {
          metadata = given.getMap();
        });
        stream.on('data', (bytes: Buffer) => void messages.push(bytes));
        stream.on('error', ({ code, details, metadata: trailers }: ServiceError) =>
          resolve({ code, details, messages, metadata: { ...metadata, ...trailers.getMap() } }),
        );
        stream.on('end', () => resolve({ code: 0, details: '', messages, metadata }));
      }),
    close: () => client.close(),
  };
}
