import { within } from '../runtime/clock/deadline.ts';
import { atomContract } from './contracts/atom.ts';
import type { KvContract } from './contracts/kv-contract.ts';
import { mooncakeContract } from './contracts/mooncake.ts';
import { moriIoContract } from './contracts/mori-io.ts';
import { nixlContract } from './contracts/nixl.ts';
import { offloadingContract, type PeerPorts } from './contracts/offloading.ts';
import { sglangContract } from './contracts/sglang.ts';
import { sharedStorageContract } from './contracts/shared-storage.ts';
import type { SidecarOptions } from './options/sidecar-options.ts';
import { getText } from './servers/post-json.ts';
import type { LegSender } from './servers/upstreams.ts';

/** As long as vLLM waits for a bootstrap server. */
const BOOTSTRAP_TIMEOUT_MS = 5_000;
const BOOTSTRAP_PATH = '/query';

/**
 * The ports on which engines give blocks to peers, and the ports of the same servers for requests.
 */
export function peerPortsOf({ p2pPort, port, dataParallelSize }: SidecarOptions): PeerPorts {
  return { base: p2pPort, routed: { base: port, ranks: dataParallelSize } };
}

/** The contract of the engines' connector. */
export function chooseContract(
  options: SidecarOptions,
  upstreams: LegSender,
  peerPorts: PeerPorts,
): KvContract {
  const { connector, clock, moriIo } = options;
  switch (connector) {
    case 'nixlv2':
      return moriIo === undefined ? nixlContract(peerPorts) : moriIoContract(moriIo, peerPorts);
    case 'shared-storage':
      return sharedStorageContract;
    case 'sglang':
      return sglangContract(options.sglangBootstrapPort);
    case 'mooncake':
      return mooncakeContract(options.mooncakeBootstrapPort, (server, outer) => {
        const what = `the bootstrap server ${server} did not answer`;
        const time = { clock, limitMs: BOOTSTRAP_TIMEOUT_MS, signal: outer, what };
        return within(time, (signal) =>
          getText(upstreams, 'bootstrap', { server, path: BOOTSTRAP_PATH, signal }),
        );
      });
    case 'offloading':
      return offloadingContract(peerPorts);
    case 'atom':
      return atomContract(options.atomRanks);
  }
}
