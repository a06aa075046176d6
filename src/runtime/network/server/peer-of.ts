import type { Socket } from 'node:net';

/** A connection and its TLS are two objects, which have only this in common. */
export function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
