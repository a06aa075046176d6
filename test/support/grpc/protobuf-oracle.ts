import { join } from 'node:path';
import { loadSync } from '@grpc/proto-loader';

const definitions = loadSync('envoy/service/ext_proc/v3/external_processor.proto', {
  includeDirs: [join(import.meta.dirname, '..', '..', '..', 'proto')],
  keepCase: true,
  enums: Number,
  oneofs: true,
});
const service = definitions['envoy.service.ext_proc.v3.ExternalProcessor'];
if (service === undefined || 'format' in service)
  throw new Error('the service is not in the proto');
const method = service['Process'];
if (method === undefined) throw new Error('the service has no Process');

/** What protobufjs makes of an ext_proc request, with the .proto files of the package. */
export const encodeOracle = (message: object): Buffer => method.requestSerialize(message);

/** What protobufjs reads in an ext_proc response. */
export const decodeOracle = (bytes: Buffer): Readonly<Record<string, unknown>> =>
  method.responseDeserialize(bytes) as Record<string, unknown>;
