import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { type Api, createCompletionTarget } from './completion-target.ts';

interface Sent {
  readonly header: unknown;
  readonly body: Readonly<Record<string, unknown>>;
}

/** What a server gets of one request whose answer has three tokens. */
async function sentTo(api: Api, stubLengths: boolean): Promise<Sent> {
  const { promise, resolve } = Promise.withResolvers<Sent>();
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => void (body += chunk.toString()));
    request.on('end', () => {
      response.end();
      resolve({ header: request.headers['x-stub-output-tokens'], body: JSON.parse(body) });
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const target = createCompletionTarget({
    url,
    api,
    headers: {},
    servedByHeader: 'x-inference-pod',
    stubLengths,
  });
  const hooks = { onTokens: () => undefined, onEnd: () => undefined };
  target.send({ model: 'm', prompt: Buffer.from(' the'), outputTokens: 3 }, hooks);
  const sent = await promise;
  await target.close();
  server.close();
  server.closeAllConnections();
  return sent;
}

it.each(['completions', 'chat'] as const)(
  '[S22] says how long an answer is in the body, or in a header alone: %s',
  async (api) => {
    const said = await sentTo(api, false);
    expect(said).toMatchObject({ body: { max_tokens: 3, ignore_eos: true } });
    expect(said.header).toBeUndefined();
    const hidden = await sentTo(api, true);
    expect(hidden.header).toBe('3');
    const { max_tokens: _, ignore_eos: __, ...rest } = said.body;
    expect(hidden.body).toEqual(rest);
  },
);
