import { checkBodyBytes } from '../body/body-reader.ts';
import { invalidRequest } from '../json/json-text.ts';
import { FRAME_HEAD_BYTES, type FrameHandler, GrpcFrames } from './grpc-frames.ts';
import { type ProtoHandler, ProtoScanner } from './proto-scanner.ts';

/** The one message of a unary gRPC request, read while it arrives. */
export class GrpcMessage implements FrameHandler {
  readonly #handler: ProtoHandler;
  readonly #bodyBytesMax: number;
  readonly #frames = new GrpcFrames(this);
  #scanner: ProtoScanner | undefined;
  #bodyBytes = 0;
  #messageBytes = 0;

  constructor(handler: ProtoHandler, bodyBytesMax: number) {
    this.#handler = handler;
    this.#bodyBytesMax = bodyBytesMax;
  }

  get bodyBytes(): number {
    return this.#bodyBytes;
  }

  /** Bytes of the message alone, as its frame says; 0 before it has begun. */
  get messageBytes(): number {
    return this.#messageBytes;
  }

  /** Whether the message is there: nothing may follow it. */
  get complete(): boolean {
    return this.#scanner !== undefined && this.#frames.complete;
  }

  /** Throws RoutingError `invalid-request` or `body-too-large`. */
  push(chunk: Uint8Array): void {
    this.#bodyBytes += chunk.length;
    checkBodyBytes(this.#bodyBytes, this.#bodyBytesMax);
    this.#frames.push(chunk);
  }

  begin(length: number, start: number, compressed: boolean): void {
    if (this.#scanner !== undefined) {
      throw invalidRequest('the request body has a second message: this method takes one');
    }
    if (compressed) {
      throw invalidRequest('the message is compressed: send it without grpc-encoding');
    }
    checkBodyBytes(FRAME_HEAD_BYTES + length, this.#bodyBytesMax);
    this.#messageBytes = length;
    this.#scanner = new ProtoScanner(this.#handler, start, length);
  }

  part(piece: Uint8Array): void {
    this.#scanner?.push(piece);
  }

  end(): void {}

  /** Throws RoutingError `invalid-request` where the message has not come, or not as a whole. */
  check(): void {
    if (this.complete) return;
    throw invalidRequest(
      this.#bodyBytes === 0
        ? 'the request body is empty: a gRPC message was expected'
        : `the gRPC message ends early, after ${this.#bodyBytes} bytes`,
    );
  }
}
