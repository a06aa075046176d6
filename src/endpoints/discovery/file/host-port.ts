import { z } from 'zod';

const LABEL = '[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?';
/** With underscores, as container names have, and a letter in the last part, unlike addresses. */
const HOST_NAME = new RegExp(`^(?=.{1,253}$)(?=(.*\\.)?[^.]*[a-z_])${LABEL}(\\.${LABEL})*$`, 'i');

const ipv6 = z.ipv6();
const host = z.union([z.ipv4(), ipv6, z.string().regex(HOST_NAME)]);

/** IPv6 addresses have no brackets. */
export function isHost(text: string): boolean {
  return host.safeParse(text).success;
}

export function isPort(port: number): boolean {
  return Number.isInteger(port) && port >= 1 && port <= 65_535;
}

/** `host:port` as the destination header has it, with an IPv6 host in brackets. */
export function hostPort(name: string, port: number): string {
  return ipv6.safeParse(name).success ? `[${name}]:${port}` : `${name}:${port}`;
}

export function isHostPort(text: string): boolean {
  const match = /^(?:\[([^\]]*)\]|([^:]*)):(\d{1,5})$/.exec(text);
  if (match === null) return false;
  const [, bracketed, plain, port] = match;
  const wellFormed =
    bracketed === undefined ? isHost(plain ?? '') : ipv6.safeParse(bracketed).success;
  return wellFormed && isPort(Number(port));
}
