import { ConfigError } from '../../src/framework/error.ts';
import type { StubOptions } from './stub-options.ts';

export interface EngineAddress {
  /** Index of its server in the pool, from 0. */
  readonly server: number;
  readonly rank: number;
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  /** Offset of its other ports, such as for KV events, from the first. */
  readonly portOffset: number;
  /** Whether it has the address alone; else engines of its server share it. */
  readonly ownsAddress: boolean;
}

const PORT_MAX = 65_535;

/**
 * One address for each rank of each server. Ranks have consecutive ports, or all the same one where
 * they are `engines`; servers follow on the next ports or addresses, as the first server's `spread`
 * says. Throws ConfigError where the ports do not suffice.
 */
export function engineAddresses(servers: readonly StubOptions[]): readonly EngineAddress[] {
  const [{ host, port, spread } = { host: '', port: 0, spread: 'ports' }] = servers;
  const addresses: EngineAddress[] = [];
  /** Ports that the servers so far listen on. */
  let ports = 0;
  for (const [server, { dataParallelSize, engines }] of servers.entries()) {
    const ownsAddress = engines === 1;
    for (let rank = 0; rank < dataParallelSize * engines; rank++) {
      const ownPort = ownsAddress ? rank : 0;
      addresses.push({
        server,
        rank,
        host: spread === 'ports' ? host : addressAfter(host, server),
        port: port === 0 ? 0 : port + ownPort + (spread === 'ports' ? ports : 0),
        portOffset: spread === 'ports' ? addresses.length : rank,
        ownsAddress,
      });
    }
    ports += dataParallelSize;
  }
  const last = Math.max(...addresses.map((each) => each.port));
  if (last > PORT_MAX) {
    const needed = last - port + 1;
    const message = `${port} is too high for ${needed} consecutive ports: give at most ${PORT_MAX - needed + 1}, or 0 for free ones`;
    throw new ConfigError('stub', [{ path: '--port', message }]);
  }
  return addresses;
}

/** The IPv4 address `steps` after `host`, in dotted notation. */
function addressAfter(host: string, steps: number): string {
  const number = host.split('.').reduce((sum, part) => 256 * sum + Number(part), 0) + steps;
  return [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join('.');
}
