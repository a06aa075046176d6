import { isPort } from '../../endpoints/discovery/file/host-port.ts';
import { WrongAddress } from './command-errors.ts';

/** A port alone is one of this machine. */
const PORT_ALONE = /^:?(?<port>\d+)$/;
/** `http://` is left out by most users. */
const SCHEME = /^https?:\/\//;
const DIGITS = /^\d+$/;
const PORT = /^[^/?#]*:(?<port>[^:\]/?#]*)(?:[/?#]|$)/;

/**
 * The URL of a path at `host:port`, at a port of this machine, or at a URL. Throws WrongAddress
 * with the address, what is wrong with it and `hint`, which says what to give.
 */
export function adminUrl(address: string, path: string, hint: string): URL {
  const alone = PORT_ALONE.exec(address)?.groups?.['port'];
  const place = alone === undefined ? address : `127.0.0.1:${alone}`;
  const base = SCHEME.test(place) ? place : `http://${place}`;
  const port = PORT.exec(base.replace(SCHEME, ''))?.groups?.['port'];
  if (port !== undefined && !(DIGITS.test(port) && isPort(Number(port)))) {
    throw new WrongAddress(
      `${address}: ${JSON.stringify(port)} is no port: give a whole number from 1 to 65535; ${hint}`,
    );
  }
  if (!URL.canParse(path, base)) {
    throw new WrongAddress(`${address} is neither host:port nor a URL; ${hint}`);
  }
  return new URL(path, base);
}
