import type { StubOptions } from './stub-options.ts';

/** Where one engine of a pool listens. */
export interface Place {
  /** Of the server it belongs to, counted from 0. */
  readonly server: number;
  /** Its data-parallel rank there. */
  readonly rank: number;
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** What its other ports, such as that of its KV events, are further from the first of them. */
  readonly portOffset: number;
}

/**
 * One place for each rank of each server, ranks on consecutive ports as vLLM has them. Servers follow one another on
 * the ports after that, or each has an address of its own and the same ports. The first server's options say where.
 */
export function placesOf(each: readonly StubOptions[]): readonly Place[] {
  const [{ host, port, spread } = { host: '', port: 0, spread: 'ports' }] = each;
  const places: Place[] = [];
  for (const [server, { dataParallelSize }] of each.entries()) {
    for (let rank = 0; rank < dataParallelSize; rank++) {
      const portOffset = spread === 'ports' ? places.length : rank;
      places.push({
        server,
        rank,
        host: spread === 'ports' ? host : addressAfter(host, server),
        port: port === 0 ? 0 : port + portOffset,
        portOffset,
      });
    }
  }
  return places;
}

/** The IPv4 address `steps` after one in dotted notation. */
function addressAfter(host: string, steps: number): string {
  const number = host.split('.').reduce((sum, part) => 256 * sum + Number(part), 0) + steps;
  return [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join('.');
}
