import type { Random } from '../../../src/framework/runtime.ts';
import type { SimulatedClock } from '../../../src/runtime/clock/simulated-clock.ts';
import { createStubReplica, KvNetwork } from '../../../stub-server/create-stub-replica.ts';
import type { StubReplica } from '../../../stub-server/http/replica/stub-replica.ts';
import { createStubServer } from '../../../stub-server/http/server.ts';
import { engineAddresses } from '../../../stub-server/options/engine-addresses.ts';
import { readPoolFile } from '../../../stub-server/options/stub-pool-file.ts';
import type { VirtualWire } from './virtual-wire.ts';

/** The servers of a pool file, as `pointsman stub` has them, on a wire in place of ports. */
export function startVirtualStubs(
  poolFile: string,
  {
    clock,
    random,
    wire,
  }: { readonly clock: SimulatedClock; readonly random: Random; readonly wire: VirtualWire },
): readonly StubReplica[] {
  const servers = readPoolFile(poolFile, 'pool.yaml');
  const kvNetwork = new KvNetwork(clock);
  const byAddress = new Map<string, StubReplica>();
  return engineAddresses(servers).map((place, index) => {
    const options = servers[index];
    if (options === undefined) throw new Error('a server has several engines');
    const ranks: StubReplica[] = [];
    const replica = createStubReplica(`stub-${index}`, {
      options,
      place,
      clock,
      random: random.fork(`stub-${index}`),
      events: undefined,
      kvNetwork,
      ranks,
      texts: undefined,
    });
    ranks.push(replica);
    replica.address = `${place.host}:${place.port}`;
    byAddress.set(replica.address, replica);
    wire.add(
      replica.address,
      createStubServer(replica, (address) => byAddress.get(address)),
    );
    return replica;
  });
}
