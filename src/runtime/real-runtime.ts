import type { Runtime } from '../framework/runtime.ts';
import { nodeClock } from './node-clock.ts';
import { createNodeNetwork, type NodeNetwork } from './node-network.ts';
import { randomSecret } from './random-seed.ts';
import { seededRandom } from './seeded-random.ts';

export interface RealRuntime extends Runtime {
  readonly network: NodeNetwork;
  readonly secret: Uint32Array;
}

/** The real clock and network, and a secret of its own. Random numbers come from the seed. */
export function createRealRuntime({ seed }: { readonly seed: number }): RealRuntime {
  return {
    clock: nodeClock(),
    random: seededRandom(seed),
    network: createNodeNetwork(),
    secret: randomSecret(),
  };
}
