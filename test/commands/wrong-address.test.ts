import { execFile } from 'node:child_process';
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PROGRAM } from '../support/programs/program.ts';

interface Ended {
  readonly code: number | null;
  readonly stderr: string;
}

/** Runs the program where it may leave nothing in the tree. */
function pointsman(...args: readonly string[]): Promise<Ended> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [PROGRAM, ...args],
      { cwd: tmpdir() },
      (_error, _stdout, stderr) => resolve({ code: child.exitCode, stderr }),
    );
  });
}

describe('a failure in spite of correct usage', () => {
  it.each([
    [['explain', 'an-id', '--admin', '127.0.0.1:1']],
    [['shadow', 'top', '--admin', '127.0.0.1:1']],
  ])('[O160] %j', async (args) => {
    const { code, stderr } = await pointsman(...args);
    expect(stderr).toMatch(
      /^no picker at 127\.0\.0\.1:1 .*; give the address of its --metrics-port/,
    );
    expect(code).toBe(1);
  });

  it('[O279] names no library where a scheduler cannot be reached', async () => {
    const { code, stderr } = await pointsman('scheduler', 'check', '127.0.0.1:1');
    expect(stderr).toBe(
      'no scheduler at 127.0.0.1:1 (connect ECONNREFUSED 127.0.0.1:1): does it run there, and do it and this command both use TLS (--tls), or neither?\n',
    );
    expect(code).toBe(1);
  });
});

describe('[O280] [O450] an address of something else', () => {
  const other = createHttpServer(({ url = '' }, response) => {
    const isKnown = !url.startsWith('/debug/explain');
    response.statusCode = isKnown ? 200 : 404;
    response.end(isKnown ? '{\n  "shadows": []\n}' : '{"error": {"message": "Not Found"}}');
  });
  let address = '';
  beforeAll(async () => {
    await new Promise<void>((resolve) => void other.listen(0, '127.0.0.1', resolve));
    address = `127.0.0.1:${(other.address() as AddressInfo).port}`;
  });
  afterAll(() => other.close());

  it.each([
    [
      ['doctor', '--envoy', 'OTHER'],
      /^OTHER is no Envoy: it answered 200 \{ "shadows": \[\] \}; give Envoy’s admin port\n$/,
    ],
    [
      ['explain', 'an-id', '--admin', 'OTHER'],
      /^OTHER answered 404, as no picker does; give the address of its --metrics-port with --admin\n$/,
    ],
    [
      ['top', '--admin', 'https://OTHER'],
      /^no picker at https:\/\/OTHER \(the TLS handshake failed: is it a port without TLS, for http/,
    ],
    [['shadow', 'report', 'page.html', '--admin', 'OTHER'], /^no shadows: start the picker with/],
  ])('%j', async (args, sentence) => {
    const { code, stderr } = await pointsman(...args.map((arg) => arg.replace('OTHER', address)));
    expect(stderr.replace(address, 'OTHER')).toMatch(sentence);
    expect(code).toBe(1);
  });
});
