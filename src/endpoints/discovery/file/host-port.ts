import { z } from 'zod';
import { bareHostOf, portOf } from '../../../framework/values/server-address.ts';

const LABEL = '[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?';
/**
 * With underscores, as container names have, a letter in the last part, unlike addresses, and
 * perhaps the dot at the end that keeps search domains away. A last part that is a number, also a
 * hexadecimal one, makes all of it an IPv4 address for systems and URLs.
 */
const HOST_NAME = new RegExp(
  `^(?=.{1,254}$)(?=(.*\\.)?[^.]*[a-z_][^.]*\\.?$)(?!(.*\\.)?0x[0-9a-f]*\\.?$)${LABEL}(\\.${LABEL})*\\.?$`,
  'i',
);

const ipv6 = z.ipv6();
const ip = z.union([z.ipv4(), ipv6]);
const host = z.union([ip, z.string().regex(HOST_NAME)]);

/** IPv6 addresses have no brackets. */
export function isHost(text: string): boolean {
  return host.safeParse(text).success;
}

/** IPv6 addresses have no brackets. */
export function isAddress(text: string): boolean {
  return ip.safeParse(text).success;
}

/** `0.0.0.0`, `::` or another spelling: an address to listen on, which names no server. */
export function isUnspecified(host: string): boolean {
  return /^[0.:]+$/.test(host);
}

/** The parts of a `host:port`; an IPv6 host without its brackets. */
export function splitHostPort(text: string): { readonly host: string; readonly port: number } {
  return { host: bareHostOf(text), port: Number(portOf(text)) };
}

export function isPort(port: number): boolean {
  return Number.isInteger(port) && port >= 1 && port <= 65_535;
}

/**
 * `host:port` as the destination header has it, with an IPv6 host in brackets, in the spelling in
 * which proxies and resolvers write it.
 */
export function hostPort(name: string, port: number): string {
  return ipv6.safeParse(name).success ? `[${usualIpv6(name)}]:${port}` : `${name}:${port}`;
}

/** A well-formed `host:port` as `hostPort` writes it. */
export function usualHostPort(text: string): string {
  const { host: name, port } = splitHostPort(text);
  return text.startsWith('[') ? hostPort(name, port) : text;
}

/** `FD00:0:0::1` is `fd00::1`. What contains an IPv4 address keeps its points, as elsewhere. */
function usualIpv6(address: string): string {
  if (address.includes('.')) return address.toLowerCase();
  return new URL(`http://[${address}]`).hostname.slice(1, -1);
}

export function isHostPort(text: string): boolean {
  const match = /^(?:\[([^\]]*)\]|([^:]*)):(\d{1,5})$/.exec(text);
  if (match === null) return false;
  const [, bracketed, plain, port] = match;
  const wellFormed =
    bracketed === undefined ? isHost(plain ?? '') : ipv6.safeParse(bracketed).success;
  return wellFormed && isPort(Number(port));
}
