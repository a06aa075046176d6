import { request } from 'node:http';

/** Where a server of another process is asked for KV. */
export const PULL_PATH = '/stub/kv';

/** Waits until a server of another process has sent so many tokens of a prefill. False when it will not. */
export function pullRemote(
  address: string,
  wanted: { readonly key: string; readonly tokens: number; readonly patient: boolean },
): Promise<boolean> {
  const body = JSON.stringify(wanted);
  return new Promise((resolve) => {
    const asked = request(
      `http://${address}${PULL_PATH}`,
      {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
      },
      (answer) => {
        answer.resume();
        resolve(answer.statusCode === 200);
      },
    );
    asked.on('error', () => resolve(false));
    asked.end(body);
  });
}
