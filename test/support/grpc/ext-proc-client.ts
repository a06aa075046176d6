import { join } from 'node:path';
import {
  type Client,
  type ClientDuplexStream,
  credentials,
  loadPackageDefinition,
  type ServiceClientConstructor,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

interface Field {
  readonly key: string;
  readonly raw_value: Buffer;
}
interface Mutation {
  readonly set_headers?: readonly { readonly header: Field }[];
}
interface Common {
  readonly response?: {
    readonly header_mutation?: Mutation;
    readonly body_mutation?: {
      readonly streamed_response?: { readonly body?: Buffer; readonly end_of_stream: boolean };
    };
  };
}

/** A picker's message, as grpc-js reads it. */
export interface Answer {
  readonly response: string;
  readonly request_headers?: Common;
  readonly request_body?: Common;
  readonly response_headers?: Common;
  readonly response_body?: Common;
  readonly immediate_response?: {
    readonly status: { readonly code: number };
    readonly headers?: Mutation;
    readonly body: Buffer | string;
  };
}

const loaded = loadPackageDefinition(
  loadSync('envoy/service/ext_proc/v3/external_processor.proto', {
    includeDirs: [join(import.meta.dirname, '..', '..', '..', 'proto')],
    keepCase: true,
    oneofs: true,
  }),
) as unknown as {
  readonly envoy: {
    readonly service: {
      readonly ext_proc: { readonly v3: { readonly ExternalProcessor: ServiceClientConstructor } };
    };
  };
};

export type ProcessorStream = ClientDuplexStream<object, Answer>;

export interface ProcessorClient extends Client {
  Process(): ProcessorStream;
}

/** A client of the ext_proc service at a port of 127.0.0.1. The caller closes it. */
export function processorClient(port: number): ProcessorClient {
  const { ExternalProcessor } = loaded.envoy.service.ext_proc.v3;
  return new ExternalProcessor(`127.0.0.1:${port}`, credentials.createInsecure(), {
    'grpc.max_receive_message_length': -1,
    // A connection of its own.
    'grpc.use_local_subchannel_pool': 1,
  }) as unknown as ProcessorClient;
}

/**
 * Sends the messages of one request as a proxy does, and resolves to all answers until the stream
 * ends.
 */
export async function exchange(
  port: number,
  messages: readonly object[],
): Promise<readonly Answer[]> {
  const client = processorClient(port);
  const stream = client.Process();
  const answers: Answer[] = [];
  try {
    await new Promise<void>((resolve, reject) => {
      stream.on('data', (answer: Answer) => answers.push(answer));
      stream.on('end', resolve);
      stream.on('error', reject);
      for (const message of messages) stream.write(message);
      stream.end();
    });
    return answers;
  } finally {
    client.close();
  }
}

/** The answers in the bytes of a gRPC stream. */
export function answersIn(bytes: Buffer): readonly Answer[] {
  const { Process } = loaded.envoy.service.ext_proc.v3.ExternalProcessor.service;
  const answers: Answer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + 5 + bytes.readUInt32BE(at + 1);
    answers.push(Process?.responseDeserialize(bytes.subarray(at + 5, end)) as Answer);
    at = end;
  }
  return answers;
}

const headerMap = (headers: Readonly<Record<string, string>>): object => ({
  headers: Object.entries(headers).map(([key, value]) => ({ key, raw_value: Buffer.from(value) })),
});

/** `subset` is the proxy's hint: the endpoints that may serve the request. */
export function requestHeaders(
  headers: Readonly<Record<string, string>>,
  {
    endOfStream = false,
    subset,
  }: { readonly endOfStream?: boolean; readonly subset?: readonly string[] } = {},
): object {
  const values = subset?.map((value) => ({ stringValue: value }));
  const hint = { 'x-gateway-destination-endpoint-subset': { listValue: { values } } };
  return {
    request_headers: { headers: headerMap(headers), end_of_stream: endOfStream },
    ...(subset && {
      metadata_context: { filter_metadata: { 'envoy.lb.subset_hint': { fields: hint } } },
    }),
  };
}

export function requestBody(text: string, endOfStream = true): object {
  return { request_body: { body: Buffer.from(text), end_of_stream: endOfStream } };
}

/** A piece of a request's body that is not the last. */
export function requestPart(text: string): object {
  return requestBody(text, false);
}

export function responseHeaders(headers: Readonly<Record<string, string>>): object {
  return { response_headers: { headers: headerMap(headers), end_of_stream: false } };
}

export function responseBody(text: string, endOfStream: boolean): object {
  return { response_body: { body: Buffer.from(text), end_of_stream: endOfStream } };
}

/** A piece of an answer that is not the last, and its last one. */
export function responsePart(text: string): object {
  return responseBody(text, false);
}

export function responseEnd(text: string): object {
  return responseBody(text, true);
}

/** Headers that a mutation sets. */
export function headersSet(mutation: Mutation | undefined): ReadonlyMap<string, string> {
  const fields = mutation?.set_headers ?? [];
  return new Map(fields.map(({ header }) => [header.key, header.raw_value.toString()]));
}

/** The pieces of a body that were sent back, joined, and whether the last one ends the stream. */
export function bodyOf(
  answers: readonly Answer[],
  side: 'request_body' | 'response_body',
): { readonly text: string; readonly ends: boolean } {
  const pieces = answers.flatMap((answer) => {
    const piece = answer[side]?.response?.body_mutation?.streamed_response;
    return piece === undefined || piece === null ? [] : [piece];
  });
  return {
    text: Buffer.concat(pieces.map(({ body }) => body ?? Buffer.alloc(0))).toString(),
    ends: pieces.at(-1)?.end_of_stream === true,
  };
}
