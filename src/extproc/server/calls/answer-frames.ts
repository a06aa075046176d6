import { FRAME_HEAD_BYTES } from '../../../openai/grpc/grpc-frames.ts';
import { EchoMessage, type WireMessage } from '../../codec/echo-message.ts';
import { encodeResponse } from '../../codec/encode-response.ts';
import type { Answer } from './answer-writer.ts';
import { GRPC } from './grpc.ts';
import { FramingError } from './message-reader.ts';

/**
 * A larger body is sent from where it is; copying a smaller one costs less than a further write.
 */
const COPIED_BYTES_MAX = 8 * 1024;

/**
 * Answers as gRPC sends them, in as few buffers as possible. Throws FramingError for a larger one.
 */
export function framesOf(answers: readonly Answer[], bytesMax: number): readonly Uint8Array[] {
  const messages = answers.map(encodeResponse);
  let copied = 0;
  for (const message of messages) {
    if (message.byteLength > bytesMax) throw tooLarge(message.byteLength, bytesMax);
    copied += FRAME_HEAD_BYTES + message.byteLength - passed(message);
  }
  const out = Buffer.allocUnsafe(copied);
  const frames: Uint8Array[] = [];
  let from = 0;
  let at = 0;
  for (const message of messages) {
    out[at] = 0;
    out.writeUInt32BE(message.byteLength, at + 1);
    at += FRAME_HEAD_BYTES;
    if (passed(message) === 0) {
      at += message.copy(out, at);
      continue;
    }
    at = (message as EchoMessage).copyHead(out, at);
    frames.push(out.subarray(from, at), ...(message as EchoMessage).pieces);
    from = at;
  }
  if (from < at) frames.push(out.subarray(from));
  return frames;
}

/** The bytes of a message that are not copied. */
function passed(message: WireMessage): number {
  return message instanceof EchoMessage && message.bodyBytes > COPIED_BYTES_MAX
    ? message.bodyBytes
    : 0;
}

function tooLarge(bytes: number, bytesMax: number): FramingError {
  return new FramingError(
    GRPC.resourceExhausted,
    `Sent message larger than max (${bytes} vs. ${bytesMax})`,
  );
}
