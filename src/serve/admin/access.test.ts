import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { makeTokenFile, readToken } from '../../files/following/token-file.ts';
import { Access, type AccessOptions, type Caller, type Scope } from './access.ts';
import { BearerToken } from './bearer-token.ts';

const folder = mkdtempSync(join(tmpdir(), 'pointsman-access-'));
const tokenFile = join(folder, 'token');
const TOKEN = 'a-token-of-administrators';
writeFileSync(tokenFile, `${TOKEN}\n`);
afterAll(() => rmSync(folder, { recursive: true }));

const LOCAL = { localAddress: '127.0.0.1', remoteAddress: '127.0.0.1' };
const REMOTE = { localAddress: '10.0.0.1', remoteAddress: '10.0.0.7' };
const withToken = { authorization: `Bearer ${TOKEN}` };

interface Question {
  readonly headers?: Caller['headers'];
  readonly socket?: Caller['socket'];
  readonly options?: AccessOptions;
}

/** The status of the refusal, or 200. */
async function ask(scope: Scope, { headers, socket = LOCAL, options = {} }: Question) {
  const caller = { headers: { host: 'localhost:9090', ...headers }, socket };
  return (await new Access(options).refusal(scope, caller))?.status ?? 200;
}

function admins(more: AccessOptions = {}): AccessOptions {
  return { adminToken: new BearerToken('--admin-token-file', tokenFile), ...more };
}

describe('Access', () => {
  it('[V20] lets anyone ask for health and metrics, and only this machine for the rest', async () => {
    for (const socket of [LOCAL, REMOTE]) {
      expect(await ask('open', { socket })).toBe(200);
      expect(await ask('metrics', { socket, headers: { host: 'picker.example' } })).toBe(200);
    }
    expect(await ask('read', {})).toBe(200);
    expect(await ask('read', { socket: REMOTE })).toBe(403);
    expect(await ask('change', { socket: REMOTE, headers: withToken, options: admins() })).toBe(
      403,
    );
  });

  it.each([
    ['IPv6', '::1', '::1', 200],
    ['IPv4 on a socket for both', '::ffff:127.0.0.1', '::ffff:127.0.0.1', 200],
    [
      'a mesh, which connects from the loopback to the address of the pod',
      '10.0.0.1',
      '127.0.0.6',
      403,
    ],
    ['an address that only begins like one', '127.0.0.1.evil', '127.0.0.1.evil', 403],
    ['an unknown address', undefined, undefined, 403],
  ])(
    '[V20] judges both ends of a connection: %s',
    async (_, localAddress, remoteAddress, status) => {
      expect(await ask('read', { socket: { localAddress, remoteAddress } })).toBe(status);
    },
  );

  it.each(['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'])(
    '[V20] takes a request with %s for one of another machine',
    async (name) => {
      expect(await ask('read', { headers: { [name]: '10.0.0.7' } })).toBe(403);
    },
  );

  it('[O6] gives the files of the live page, which hold no data, to all that it may answer', async () => {
    const fromLink = { 'sec-fetch-site': 'cross-site', host: 'picker.example' };
    expect(await ask('file', { headers: fromLink })).toBe(200);
    expect(await ask('file', { socket: REMOTE })).toBe(403);
    expect(await ask('file', { headers: { via: 'proxy' } })).toBe(403);
    const options = admins({ remote: true });
    expect(await ask('file', { socket: REMOTE, options })).toBe(200);
    expect(await ask('read', { socket: REMOTE, options })).toBe(401);
  });

  it('[V20] answers other machines with --admin-remote and the token', async () => {
    const options = admins({ remote: true });
    const question = { socket: REMOTE, options };
    const headers = { ...withToken, host: 'picker.example:9090' };
    expect(await ask('read', { ...question, headers })).toBe(200);
    expect(await ask('change', { ...question, headers })).toBe(200);
    expect(await ask('read', question)).toBe(401);
    expect(await ask('change', question)).toBe(401);
    expect(await ask('read', { options })).toBe(200);
  });

  it('[V21] changes something only with the right token', async () => {
    const options = admins();
    expect(await ask('change', {})).toBe(403);
    expect(await ask('change', { headers: withToken })).toBe(403);
    expect(await ask('change', { options })).toBe(401);
    for (const authorization of ['Bearer wrong', 'Bearer', `Basic ${TOKEN}`, TOKEN, 'Bearer  ']) {
      expect(await ask('change', { options, headers: { authorization } })).toBe(401);
    }
    expect(await ask('change', { options, headers: withToken })).toBe(200);
    expect(await ask('change', { options, headers: { authorization: `bearer ${TOKEN}` } })).toBe(
      200,
    );
  });

  it.each([
    ['a page of another origin', { origin: 'https://evil.example' }],
    ['a page without an origin of its own', { origin: 'null' }],
    ['a page of another port of this machine', { origin: 'http://localhost:8080' }],
    ['an image or a form on a foreign page', { 'sec-fetch-site': 'cross-site' }],
    ['another site of this domain', { 'sec-fetch-site': 'same-site' }],
  ])('[V22] refuses what a browser sends for %s, also with the token', async (_, headers) => {
    expect(await ask('read', { headers })).toBe(403);
    const question = { headers: { ...headers, ...withToken }, options: admins() };
    expect(await ask('change', question)).toBe(403);
  });

  it.each([
    'evil.example',
    'evil.example:9090',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    '',
  ])('[V22] refuses a name that could have been made to lead here: %s', async (host) => {
    expect(await ask('read', { headers: { host } })).toBe(403);
  });

  it.each(['localhost', 'LOCALHOST:9090', '127.0.0.1:9090', '[::1]:9090', '127.0.0.2'])(
    'accepts a local name: %s',
    async (host) => {
      expect(await ask('read', { headers: { host } })).toBe(200);
      const origin = `http://${host}`;
      expect(
        await ask('read', { headers: { host, origin, 'sec-fetch-site': 'same-origin' } }),
      ).toBe(200);
    },
  );
});

describe('BearerToken', () => {
  it('[V21] follows the file when the token is replaced, and accepts none when it is gone', () => {
    const path = join(folder, 'replaced');
    writeFileSync(path, `${TOKEN}-1`);
    const token = new BearerToken('--admin-token-file', path);
    expect([token.accepts(`${TOKEN}-1`), token.accepts(`${TOKEN}-2`)]).toEqual([true, false]);
    writeFileSync(path, `${TOKEN}-2\n`);
    expect([token.accepts(`${TOKEN}-1`), token.accepts(`${TOKEN}-2`)]).toEqual([false, true]);
    rmSync(path);
    expect([token.accepts(`${TOKEN}-2`), token.accepts('')]).toEqual([false, false]);
  });

  it.each(['', 'short', 'with a space in the middle of it', 'ä'.repeat(40)])(
    'refuses a file with “%s”, and says how to make a token',
    (content) => {
      const path = join(folder, 'bad');
      writeFileSync(path, content);
      expect(() => new BearerToken('--admin-token-file', path)).toThrow(
        /--admin-token-file.*at least 16 printable characters.*openssl rand -hex 32/s,
      );
    },
  );
});

describe('makeTokenFile', () => {
  it('[V21] makes a token of 256 bits that only this user can read, and keeps one that is there', () => {
    const path = join(folder, 'made');
    makeTokenFile(path);
    const token = readToken('--admin-token-file', path);
    expect(token).toMatch(/^[0-9a-f]{64}$/);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    makeTokenFile(path);
    expect(readFileSync(path, 'utf8')).toBe(`${token}\n`);
  });
});
