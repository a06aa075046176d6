/** The host of a `host:port`; an IPv6 address keeps its brackets. */
export function hostOf(address: string): string {
  return address.slice(0, address.lastIndexOf(':'));
}

/** The host of a `host:port`; an IPv6 address without its brackets. */
export function bareHostOf(address: string): string {
  return hostOf(address).replace(/^\[(.*)\]$/, '$1');
}

/** The port of a `host:port`, as it is written there. */
export function portOf(address: string): string {
  return address.slice(address.lastIndexOf(':') + 1);
}
