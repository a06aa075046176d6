import type { ServerResponse } from 'node:http';

/** vLLM sends the headers as soon as it accepts the request, long before the first token. */
export function beginEventStream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  response.flushHeaders();
}
