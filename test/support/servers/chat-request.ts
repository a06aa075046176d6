export const JSON_TYPE = { 'content-type': 'application/json' };

/** The body of a chat completion with one message. */
export function chat(content: string): string {
  return JSON.stringify({ model: 'm', messages: [{ role: 'user', content }] });
}

/** Sends a chat completion through a gateway. */
export function postChat(
  url: string,
  body: string,
  headers: Record<string, string> = {},
): Promise<Response> {
  const path = `${url}/v1/chat/completions`;
  return fetch(path, { method: 'POST', body, headers: { ...JSON_TYPE, ...headers } });
}
