import { performance } from 'node:perf_hooks';
import type { ChannelCredentials, Client, ClientDuplexStream, ServiceError } from '@grpc/grpc-js';
import { messageOf } from '../../../framework/error.ts';
import type { Call, CallOptions } from '../../../framework/runtime.ts';
import { loadGrpc } from '../../modules/load-packages.ts';
import { guardCredentials } from './guarded-credentials.ts';
import { trustNamedAuthorities } from './named-authorities.ts';
import { OutgoingFiles } from './outgoing-files.ts';

/**
 * One call on a connection of its own. Never throws: every failure, an unreadable file of
 * certificate authorities included, is reported through `onClosed`, after the constructor.
 */
export class GrpcCall implements Call {
  readonly #options: CallOptions;
  readonly #files: OutgoingFiles;
  #client: Client | undefined;
  #stream: ClientDuplexStream<Uint8Array, Buffer> | undefined;
  #waitingBytes = 0;
  #closed = false;

  constructor(options: CallOptions, files: OutgoingFiles = new OutgoingFiles()) {
    this.#options = options;
    this.#files = files;
    try {
      this.#open();
    } catch (error) {
      const why = messageOf(error);
      setImmediate(() => this.#end(why));
    }
  }

  send(message: Uint8Array): void {
    const stream = this.#stream;
    if (this.#closed || stream === undefined) return;
    this.#waitingBytes += message.length;
    stream.write(message, () => {
      this.#waitingBytes -= message.length;
    });
  }

  waitingBytes(): number {
    return this.#waitingBytes;
  }

  close(): void {
    this.#closed = true;
    this.#stream?.cancel();
    this.#client?.close();
  }

  #open(): void {
    const { address, method, messageBytesMax, onMessage } = this.#options;
    const { Client: GrpcClient } = loadGrpc();
    const client = new GrpcClient(
      address,
      guardCredentials(credentialsOf(this.#options, this.#files), performance),
      {
        'grpc.max_receive_message_length': messageBytesMax,
        // A shared connection would hide from a call that it had to be made again.
        'grpc.use_local_subchannel_pool': 1,
      },
    );
    this.#client = client;
    const stream = client.makeBidiStreamRequest<Uint8Array, Buffer>(
      method,
      ({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength),
      (bytes) => bytes,
    );
    this.#stream = stream;
    stream.on('data', (bytes: Buffer) => {
      if (!this.#closed) onMessage(bytes);
    });
    stream.on('error', (error: ServiceError) => this.#end(error.details || error.message));
    stream.on('end', () => this.#end('the scheduler ended the stream'));
  }

  #end(reason: string): void {
    if (this.#closed) return;
    this.close();
    this.#options.onClosed(reason);
  }
}

function credentialsOf({ tls }: CallOptions, files: OutgoingFiles): ChannelCredentials {
  const { credentials } = loadGrpc();
  if (tls === undefined) return credentials.createInsecure();
  trustNamedAuthorities();
  return credentials.createSsl(files.read({ caPath: tls.caPath }).ca ?? null);
}
