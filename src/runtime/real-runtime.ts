import type { Runtime } from '../framework/runtime.ts';
import { measureBusyShare } from './clock/busy-share.ts';
import { nodeClock } from './clock/node-clock.ts';
import type { WarnOfFile } from './network/client/outgoing-files.ts';
import { createNodeNetwork, type NodeNetwork } from './network/node-network.ts';
import { randomSecret } from './random-seed.ts';
import { seededRandom } from './seeded-random.ts';

export interface RealRuntime extends Runtime {
  readonly network: NodeNetwork;
  readonly secret: Uint32Array;
}

/**
 * The real clock and network. Random numbers come from the seed. The secret is one of its own,
 * unless several processes have one together.
 */
export function createRealRuntime({
  seed,
  secret = randomSecret(),
  warnOfFile,
}: {
  readonly seed: number;
  readonly secret?: Uint32Array | undefined;
  /** Called for a file of TLS that cannot be used any more. Default: a warning of the process. */
  readonly warnOfFile?: WarnOfFile;
}): RealRuntime {
  return {
    clock: nodeClock(),
    random: seededRandom(seed),
    network: createNodeNetwork({ warnOfFile }),
    secret,
    busyShare: measureBusyShare(),
  };
}
