import { join } from 'node:path';
import type { MethodDefinition, ServiceDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

const definitions = loadSync(['vllm_engine.proto', 'prediction_service.proto'], {
  includeDirs: [join(import.meta.dirname, 'proto')],
  keepCase: true,
  enums: Number,
});

export const VLLM_ENGINE: ServiceDefinition = serviceOf('vllm.grpc.engine.VllmEngine');
export const PREDICTION_SERVICE: ServiceDefinition = serviceOf(
  'google.cloud.aiplatform.v1beta1.PredictionService',
);

function serviceOf(name: string): ServiceDefinition {
  const found = definitions[name];
  if (found === undefined || 'format' in found) throw new Error(`no service ${name} in the proto`);
  return found as ServiceDefinition;
}

export function methodOf(
  service: ServiceDefinition,
  name: string,
): MethodDefinition<object, object> {
  const method = service[name];
  if (method === undefined) throw new Error(`no method ${name}`);
  return method as MethodDefinition<object, object>;
}

/** The message behind the five bytes of its frame. */
export function framed(message: Uint8Array, compressed = 0): Buffer {
  const head = Buffer.alloc(5);
  head[0] = compressed;
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/** A request of a method as it goes over the wire. */
export function framedRequest(service: ServiceDefinition, method: string, message: object): Buffer {
  return framed(methodOf(service, method).requestSerialize(message));
}

/** An answer of a method as it goes over the wire. */
export function framedAnswer(service: ServiceDefinition, method: string, message: object): Buffer {
  return framed(methodOf(service, method).responseSerialize(message));
}
