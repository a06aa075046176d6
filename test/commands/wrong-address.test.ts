import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { certificatesIn } from '../../src/commands/doctor/doctor-certificates.ts';
import { PROGRAM } from '../support/programs/program.ts';
import { type ProgramRun, RunsInTurn } from '../support/programs/runs-in-turn.ts';

/** Where the program may leave nothing in the tree. */
const runs = new RunsInTurn(tmpdir());
afterAll(() => runs.stop());

const pointsman = (...args: readonly string[]): Promise<ProgramRun> => runs.run(args);

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

describe('[O471] an argument that cannot be used, and what is at a path', () => {
  const folder = tmpdir();
  it.each([
    [['explain', '--admin', 'x:y'], /^x:y: "y" is no port: give a whole number from 1 to 65535/],
    [['explain', '--admin-token-file', folder], new RegExp(`^${folder} is not a file\\n$`)],
    [
      ['simulate', '--trace', folder, '--pool', folder],
      new RegExp(`--pool: ${folder} is a folder: name a file`),
    ],
    [
      ['serve', '--insecure', '--endpoints', '127.0.0.1:1', '--capture', PROGRAM],
      /--capture: the folder .* \(it leads through something that is no folder\); name another/,
    ],
  ])('%j', async (args, message) => {
    const { code, stderr } = await pointsman(...args);
    expect(stderr).toMatch(message);
    expect(stderr).not.toContain('    at ');
    expect(code).toBe(2);
  });

  it('is said of certificates in words, too', () => {
    const what = (file: string): string | undefined => certificatesIn(file).findings[0]?.what;
    expect(what(PROGRAM)).toBe('it cannot be read: it has no line -----BEGIN CERTIFICATE-----.');
    expect(what('/nowhere.pem')).toBe('it cannot be read: it is not there.');
  });
});

it('[O557] doctor says that the address of Envoy is that of a picker', async () => {
  const metricsPort = createHttpServer((_, response) => {
    response.statusCode = 404;
    response.end('{"error": "nothing at /server_info", "paths": ["/ui"]}');
  });
  await new Promise<void>((resolve) => void metricsPort.listen(0, '127.0.0.1', resolve));
  const address = `127.0.0.1:${(metricsPort.address() as AddressInfo).port}`;
  const { code, stderr } = await pointsman('doctor', '--envoy', address);
  metricsPort.close();
  expect(stderr).toBe(
    `${address} is the metrics port of a picker: give it with --admin, and Envoy’s admin port with --envoy\n`,
  );
  expect(code).toBe(1);
});

describe('[O280] [O450] an address of something else', () => {
  const other = createHttpServer(({ url = '' }, response) => {
    if (url.startsWith('/debug/decisions')) return void response.end('Not found');
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
      /^no picker at OTHER: it answered 404 as another server; give the address of its --metrics-port with --admin\n$/,
    ],
    [
      ['explain', '--admin', 'OTHER'],
      /^no picker at OTHER: it answered 200 without JSON; give the address of its --metrics-port with --admin\n$/,
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
