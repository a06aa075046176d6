import { RoutingError } from '../../framework/error.ts';
import { GrpcMessage } from './grpc-message.ts';
import type { ProtoHandler } from './proto-scanner.ts';

/** `tokenized.input_ids`, in GenerateRequest and in EmbedRequest. */
const TOKENIZED = 2;
const INPUT_IDS = 2 * 1024 + 2;
const PATH = /\/vllm\.grpc\.engine\.vllmengine\/(?:generate|embed)$/;

/** Whether requests to this path, as `apiPath` gives it, are vLLM's gRPC messages with a prompt. */
export function isVllmGrpcPath(path: string): boolean {
  return PATH.test(path);
}

/** The token ids in a whole gRPC body, given in pieces; undefined where it has none. */
export function vllmGrpcIds(pieces: readonly Uint8Array[]): readonly number[] | undefined {
  const ids: number[] = [];
  const handler: ProtoHandler = {
    contentOf: (path) => (path === TOKENIZED ? 'message' : path === INPUT_IDS ? 'varints' : 'skip'),
    varint: (path, value) => {
      if (path === INPUT_IDS) ids.push(value);
    },
    bytes: () => undefined,
  };
  const message = new GrpcMessage(handler, Number.POSITIVE_INFINITY);
  try {
    for (const piece of pieces) message.push(piece);
  } catch (error) {
    if (error instanceof RoutingError) return undefined;
    throw error;
  }
  return message.complete && ids.length > 0 ? ids : undefined;
}
