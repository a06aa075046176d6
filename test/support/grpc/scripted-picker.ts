import { join } from 'node:path';
import {
  loadPackageDefinition,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServiceClientConstructor,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { packageFile } from '../../../src/files/folders.ts';

interface Part {
  readonly body?: Buffer;
  readonly end_of_stream?: boolean;
}

/** A message of the gateway: one of the fields. */
export interface PickerInput {
  readonly request_headers?: Part;
  readonly request_body?: Part;
  readonly response_headers?: Part;
  readonly response_body?: Part;
  readonly response_trailers?: object;
  readonly metadata_context?: object;
}

export type PickerStream = ServerDuplexStream<PickerInput, object>;
/** Answers one message. */
export type PickerScript = (input: PickerInput, stream: PickerStream) => void;

export interface ScriptedPicker {
  readonly port: number;
  /** Sets the answers to later messages. */
  script(script: PickerScript): void;
  stop(): void;
}

/** A picker in full duplex that sends every request to `destination`, unless a test scripts it. */
export async function startScriptedPicker(destination: string): Promise<ScriptedPicker> {
  let script: PickerScript = pickOf(destination);
  const server = new Server();
  server.addService(extProcService(), {
    Process: (stream: PickerStream) => {
      stream.on('data', (input: PickerInput) => script(input, stream));
      stream.on('end', () => stream.end());
      stream.on('error', () => undefined);
    },
  });
  const credentials = ServerCredentials.createInsecure();
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', credentials, (error, bound) => {
      if (error === null) resolve(bound);
      else reject(error);
    });
  });
  return {
    port,
    script: (next) => {
      script = next;
    },
    stop: () => server.forceShutdown(),
  };
}

/** Returns everything as it came, and names the destination. */
export function pickOf(destination: string): PickerScript {
  const streamed = ({ body, end_of_stream }: Part): object => ({
    response: { body_mutation: { streamed_response: { body, end_of_stream } } },
  });
  return (input, stream) => {
    const { request_headers, request_body, response_headers, response_body } = input;
    if (request_headers !== undefined) stream.write({ request_headers: headersTo(destination) });
    else if (request_body !== undefined) stream.write({ request_body: streamed(request_body) });
    else if (response_headers !== undefined) stream.write({ response_headers: {} });
    else if (response_body !== undefined) stream.write({ response_body: streamed(response_body) });
    else stream.write({ response_trailers: {} });
  };
}

function headersTo(destination: string): object {
  const header = { key: 'x-gateway-destination-endpoint', raw_value: Buffer.from(destination) };
  return { response: { header_mutation: { set_headers: [{ header }] } } };
}

function extProcService(): ServiceClientConstructor['service'] {
  const folder = packageFile('proto');
  const file = join(folder, 'envoy/service/ext_proc/v3/external_processor.proto');
  const options = { keepCase: true, enums: String, includeDirs: [folder] };
  const loaded = loadPackageDefinition(loadSync(file, options)) as unknown as {
    readonly envoy: {
      readonly service: {
        readonly ext_proc: {
          readonly v3: { readonly ExternalProcessor: ServiceClientConstructor };
        };
      };
    };
  };
  return loaded.envoy.service.ext_proc.v3.ExternalProcessor.service;
}
