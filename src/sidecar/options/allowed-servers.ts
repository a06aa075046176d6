import { BlockList, isIP } from 'node:net';

/** Whether the sidecar may send a request to this server, `host:port`. */
export type AllowedServers = (server: string) => boolean;

/**
 * The addresses of one machine and of private networks, which no client from outside has. Without
 * link-local addresses and the others that clouds give to their metadata servers.
 */
const PRIVATE: readonly string[] = [
  '127.0.0.0/8',
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '100.64.0.0/10',
  '::1/128',
  'fc00::/7',
];
const METADATA: readonly string[] = ['100.100.100.200/32', 'fd00:ec2::254/128'];

const SERVER = /^(?:\[([\da-f:.]+)\]|([\w.-]+)):(\d{1,5})$/i;

/** Allows any private or loopback address, on any port. Names are not allowed: they can change. */
export function privateServers(): AllowedServers {
  const allowed = blockListOf(PRIVATE);
  const denied = blockListOf(METADATA);
  return (server) => {
    const { host } = partsOf(server);
    return contains(allowed, host) && !contains(denied, host);
  };
}

/**
 * Allows what the list names: `host:port`, or addresses on any port as `10.1.2.3` or `10.1.0.0/16`.
 * Throws a RangeError with the entry that is none of these.
 */
export function listedServers(entries: readonly string[]): AllowedServers {
  const exact = new Set(entries.filter((entry) => partsOf(entry).host !== ''));
  const networks = blockListOf(entries.filter((entry) => !exact.has(entry)));
  return (server) => exact.has(server) || contains(networks, partsOf(server).host);
}

/** Host without brackets; empty if the text is no `host:port`. */
function partsOf(server: string): { readonly host: string } {
  const [, six = '', other = '', port = '0'] = SERVER.exec(server) ?? [];
  const valid = Number(port) >= 1 && Number(port) <= 65_535 && (six === '' || isIP(six) === 6);
  return { host: valid ? six || other : '' };
}

function blockListOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', prefix] = network.split('/', 2);
    const family = isIP(address);
    const bits = family === 6 ? 128 : 32;
    const length = prefix === undefined ? bits : /^\d{1,3}$/.test(prefix) ? Number(prefix) : -1;
    if (family === 0 || length < 0 || length > bits) {
      throw new RangeError(
        `${network} is no host:port, no address and no network such as 10.0.0.0/8`,
      );
    }
    list.addSubnet(address, length, family === 6 ? 'ipv6' : 'ipv4');
  }
  return list;
}

function contains(list: BlockList, host: string): boolean {
  const family = isIP(host);
  return family !== 0 && list.check(host, family === 6 ? 'ipv6' : 'ipv4');
}
