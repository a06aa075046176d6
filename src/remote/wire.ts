import { loadSync, type MethodDefinition, type ServiceDefinition } from '@grpc/proto-loader';
import { packageFile } from '../files/folders.ts';
import type { PickerMessage, SchedulerMessage } from './messages.ts';

const PROTO = 'proto/pointsman/scheduler/v1/scheduler.proto';

export const PROTOCOL_VERSION = 1;
export const RUN_METHOD = '/pointsman.scheduler.v1.Scheduler/Run';

const definitions = loadSync(packageFile(PROTO), { longs: Number, enums: String, defaults: true });
const service = definitions['pointsman.scheduler.v1.Scheduler'] as ServiceDefinition;
const run = service['Run'] as MethodDefinition<PickerMessage, SchedulerMessage>;

export function encodePickerMessage(message: PickerMessage): Uint8Array {
  return run.requestSerialize(message);
}

/** Throws on bytes that are no such message. */
export function decodeSchedulerMessage(bytes: Uint8Array): SchedulerMessage {
  return run.responseDeserialize(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
}
