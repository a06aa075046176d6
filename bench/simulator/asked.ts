/** A request that both servers get, and the name by which a report says it. */
export interface Asked {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The bytes of the body; none where it is left out. */
  readonly body?: string;
}

export const MODEL = 'm';
export const MESSAGES: readonly object[] = [{ role: 'user', content: 'hello there my friend' }];
/** An answer of five tokens, whatever a server draws. */
export const FIVE_TOKENS = { max_tokens: 5, ignore_eos: true };

export function get(path: string, name = `GET ${path}`): Asked {
  return { name, method: 'GET', path };
}

export function post(
  name: string,
  path: string,
  body: object,
  headers?: Readonly<Record<string, string>>,
): Asked {
  return { ...raw(name, path, JSON.stringify(body)), ...(headers && { headers }) };
}

/** A body as it is; none with `''`. */
export function raw(name: string, path: string, body: string): Asked {
  return { name, method: 'POST', path, ...(body !== '' && { body }) };
}
