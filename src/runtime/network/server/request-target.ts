import type { IncomingMessage } from 'node:http';

const SCHEME_AND_HOST = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;

/**
 * Gives a request the path of its target where that is a whole URL: servers read it so, and what is
 * decided by the path must be decided for them, too. Returns why a request is refused with 400, or
 * undefined for a good one. Envoy does the same.
 */
export function takePathTarget(request: IncomingMessage): string | undefined {
  const { url = '/' } = request;
  const rest = url.replace(SCHEME_AND_HOST, '');
  const path = rest === '' || rest.startsWith('?') ? `/${rest}` : rest;
  if (!path.startsWith('/') || path.includes('#'))
    return `the request target ${url} is no path: send one that begins with / and has no #`;
  request.url = path;
  return undefined;
}

/**
 * Whether the client asks for a WebSocket. Other offers in `Upgrade`, such as curl's of HTTP/2, may
 * be left alone: the client goes on without them. A WebSocket client cannot, and a server that gets
 * its request without the header answers as if nobody had asked.
 */
export function asksForWebSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase().includes('websocket') === true;
}
