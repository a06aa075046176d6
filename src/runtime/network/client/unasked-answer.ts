/** What undici calls errors of the connection, though the server has answered. */
const UNASKED: Readonly<Record<string, string>> = {
  'bad response': 'it sent 100 (Continue), which nobody waits for',
  'bad upgrade': 'it changed the protocol (101), which nobody asked for',
};

/** What a server has sent that it was not asked for. Undefined where the error is another one. */
export function unaskedAnswer(error: unknown): string | undefined {
  return error instanceof Error ? UNASKED[error.message] : undefined;
}
