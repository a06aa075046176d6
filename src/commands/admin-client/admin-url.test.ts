import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { issue, newAuthority } from '../../../test/support/servers/certificates.ts';
import { adminUrl } from './admin-url.ts';
import { reasonOf } from './ask-picker.ts';

const HINT = 'give it with --admin';

describe('[O273] the address of a port to ask', () => {
  it.each([
    ['127.0.0.1:99999', '"99999"'],
    ['127.0.0.1:0', '"0"'],
    ['picker:abc', '"abc"'],
    ['[::1]:70000', '"70000"'],
    ['https://picker:65536/', '"65536"'],
  ])('%s is refused with the port and its bounds', (address, port) => {
    expect(() => adminUrl(address, '/readyz', HINT)).toThrow(
      `${address}: ${port} is no port: give a whole number from 1 to 65535; ${HINT}`,
    );
  });

  it.each(['9090', ':9090'])('[O363] %s alone is a port of this machine', (address) => {
    expect(adminUrl(address, '/readyz', HINT).href).toBe('http://127.0.0.1:9090/readyz');
    expect(() => adminUrl('99999', '/', HINT)).toThrow('"99999" is no port');
  });

  it('says what else is no address', () => {
    expect(() => adminUrl('a b', '/', HINT)).toThrow('a b is neither host:port nor a URL');
  });

  it.each(['127.0.0.1:65535', '[::1]', 'picker', 'https://[::1]:1/', 'http://picker:9090/x'])(
    'takes %s',
    (address) => expect(adminUrl(address, '/readyz', HINT).pathname).toBe('/readyz'),
  );

  it('says why fetch does not ask some ports', async () => {
    const error = await fetch('http://127.0.0.1:6000/').catch((thrown: unknown) => thrown);
    expect(reasonOf(error)).toMatch(
      /belongs to another protocol .* choose another from 1 to 65535/,
    );
  });

  it('[O302] says what to give to a port with TLS', async () => {
    const authority = await newAuthority('ours');
    const options = { ...(await issue(authority, 'picker')), requestCert: true };
    const server = createServer({ ...options, ca: authority.cert });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const reason = async (scheme: string): Promise<string> =>
      reasonOf(await fetch(`${scheme}://127.0.0.1:${port}/`).catch((thrown: unknown) => thrown));
    expect(await reason('https')).toContain('in the variable NODE_EXTRA_CA_CERTS');
    expect(await reason('http')).toContain('does it want TLS (https://…;');
  });
});
