import type { IncomingHttpHeaders } from 'node:http';
import type { Millis } from '../../src/framework/runtime.ts';
import type { Replica } from './replica.ts';
import type { ReplicaDirectory } from './sequence-kv.ts';

/** A request of a generating API, apart from its body. */
export interface GenerateCall {
  readonly replica: Replica;
  readonly findReplica: ReplicaDirectory;
  readonly requestId: string;
  readonly headers: IncomingHttpHeaders;
  /** When the whole request was received, in model time. */
  readonly receivedAt: Millis;
}
