import type { ServerResponse } from 'node:http';

/** A request that the sidecar answers itself, with this status and a sentence for the client. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;

  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

/** Answers with an error in OpenAI's format. */
export function respondError(response: ServerResponse, code: number, message: string): void {
  const error = { message, type: 'sidecar_error', param: null, code };
  response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify({ error }));
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}
