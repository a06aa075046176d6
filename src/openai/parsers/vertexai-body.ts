import type { InferenceRequest } from '../../framework/request.ts';
import type { UsageReader } from '../answers/usage-reader.ts';
import type { BodyEdit, Replacement } from '../body/body-edit.ts';
import { byteGrowth } from '../body/body-edit.ts';
import type { BodyReader } from '../body/body-reader.ts';
import { JsonBodyReader } from '../body/json-body-reader.ts';
import type { ReadParts } from '../body/read-parts.ts';
import { FRAME_HEAD_BYTES } from '../grpc/grpc-frames.ts';
import { GrpcMessage } from '../grpc/grpc-message.ts';
import type { FieldContent, FieldPlace, ProtoHandler } from '../grpc/proto-scanner.ts';
import { invalidRequest } from '../json/json-text.ts';
import type { RequestShape } from '../prompts/request-shape.ts';

/** Paths in the requests of Vertex AI's PredictionService that hold an HTTP body. */
const HTTP_BODY = 2;
const DATA = 2 * 1024 + 2;

/** Reads the JSON in `http_body.data` of a gRPC message. */
export class VertexAiBody implements BodyReader, ProtoHandler {
  readonly #json: JsonBodyReader;
  readonly #message: GrpcMessage;
  #httpBody: FieldPlace | undefined;
  #data: FieldPlace | undefined;

  constructor(parts: ReadParts, shape: RequestShape) {
    this.#json = new JsonBodyReader({ ...parts, shape });
    this.#message = new GrpcMessage(this, parts.bodyBytesMax);
  }

  get complete(): boolean {
    return this.#message.complete;
  }

  /** The JSON's edit, and the lengths that count its bytes. */
  get edit(): BodyEdit | undefined {
    const [json, httpBody, data] = [this.#json.edit, this.#httpBody, this.#data];
    if (json === undefined || httpBody === undefined || data === undefined) return undefined;
    const shifted = json.map((each) => ({
      ...each,
      start: each.start + data.contentStart,
      end: each.end + data.contentStart,
    }));
    const dataLength = lengthOf(data, byteGrowth(json));
    const bodyLength = lengthOf(httpBody, byteGrowth([dataLength, ...shifted]));
    const growth = byteGrowth([bodyLength, dataLength, ...shifted]);
    const frame = Buffer.alloc(FRAME_HEAD_BYTES - 1);
    frame.writeUInt32BE(this.#message.messageBytes + growth);
    const head = { start: 1, end: FRAME_HEAD_BYTES, text: frame, field: LENGTH };
    return [head, bodyLength, dataLength, ...shifted];
  }

  push(chunk: Uint8Array): void {
    this.#message.push(chunk);
  }

  peek(): InferenceRequest {
    const request = this.#json.peek();
    return { ...request, bodyBytes: Math.max(request.bodyBytes, this.#message.bodyBytes) };
  }

  end(): InferenceRequest {
    this.#message.check();
    if (this.#data === undefined) {
      throw invalidRequest('the message has no http_body with data: its JSON is read from there');
    }
    return { ...this.#json.end(), bodyBytes: this.#message.bodyBytes };
  }

  /** The next turn's JSON begins alike, but what the answer holds is not found in its frames. */
  answerBlocks(): undefined {
    return undefined;
  }

  /** Found behind its key, whatever frames are around it. */
  usageReader(): UsageReader {
    return this.#json.usageReader();
  }

  contentOf(path: number, place: FieldPlace): FieldContent {
    if (path === HTTP_BODY) {
      this.#httpBody = only(this.#httpBody, place, 'http_body');
      return 'message';
    }
    if (path !== DATA) return 'skip';
    this.#data = only(this.#data, place, 'http_body.data');
    return 'bytes';
  }

  varint(): void {}

  bytes(_path: number, piece: Uint8Array): void {
    this.#json.push(piece);
  }
}

/**
 * Refuses repeated fields: some servers read the last one and others both, so nobody knows which
 * one counts.
 */
function only(before: FieldPlace | undefined, place: FieldPlace, field: string): FieldPlace {
  if (before === undefined) return place;
  throw invalidRequest(`the message has ${field} more than once`);
}

const LENGTH = 'length';

/** The field's length with some bytes more. */
function lengthOf({ keyEnd, contentStart, contentEnd }: FieldPlace, growth: number): Replacement {
  const bytes: number[] = [];
  let left = contentEnd - contentStart + growth;
  for (; left >= 0x80; left = Math.floor(left / 128)) bytes.push((left % 128) | 0x80);
  bytes.push(left);
  return { start: keyEnd, end: contentStart, text: Uint8Array.from(bytes), field: LENGTH };
}
