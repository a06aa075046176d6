import { type Claim, type Parser, suffixParser, UNREAD } from './parser.ts';
import { VllmGrpcBody } from './vllmgrpc-body.ts';

/** In lower case, as parsers get paths. */
const SERVICE = '/vllm.grpc.engine.vllmengine/';
const ANY_METHOD: Claim = { length: SERVICE.length, reading: UNREAD };

const prompts = suffixParser({
  [`${SERVICE}generate`]: { open: (parts) => new VllmGrpcBody(parts, 'generate') },
  [`${SERVICE}embed`]: { open: (parts) => new VllmGrpcBody(parts, 'embed') },
});

/** vLLM's gRPC service: prompts are read, and the messages of its other methods are not. */
export const vllmgrpcParser: Parser = (path) =>
  prompts(path) ?? (path.includes(SERVICE) ? ANY_METHOD : undefined);
