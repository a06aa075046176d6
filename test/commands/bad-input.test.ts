import { spawnSync } from 'node:child_process';
import { createPrivateKey } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { selfSignedCertificate } from '../../src/runtime/network/server/self-signed-certificate.ts';
import { PROGRAM } from '../support/programs/program.ts';
import { type ProgramRun, RunsInTurn } from '../support/programs/runs-in-turn.ts';

const root = dirname(dirname(import.meta.dirname));
const folder = mkdtempSync(join(tmpdir(), 'pointsman-bad-input-'));
const TRACE = join(root, 'bench', 'traces', 'mooncake-conversation-5min.jsonl');
const POOL = 'pool.yaml';
/** Accepts connections and sends nothing. */
const busy = createServer();
let busyPort = '';
const runs = new RunsInTurn(folder);

beforeAll(async () => {
  await new Promise<void>((resolve) => void busy.listen(0, '127.0.0.1', resolve));
  busyPort = String((busy.address() as AddressInfo).port);
  const files = {
    'broken.yaml': 'servers: [1\n other',
    'empty.jsonl': '',
    'empty.csv': '',
    // A capture without any request, whose first files are missing.
    'idle.jsonl': JSON.stringify({
      e: 'capture',
      version: 1,
      seed: 1,
      config: { apiVersion: 'llm-d.ai/v1alpha1', kind: 'EndpointPickerConfig' },
      wallMs: 1,
      t: 0,
      file: 2,
    }),
    'listed.yaml':
      'apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\n' +
      'plugins: [{type: queue-scorer}, {type: file-discovery, parameters: {path: nowhere.yaml}}]\n' +
      'dataLayer: {discovery: {pluginRef: file-discovery}}\n',
    [POOL]: 'servers: [{ count: 2, preset: llama-3.1-8b-h100 }]\n',
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  mkdirSync(join(folder, 'folder'));
  await writeCertificates();
});

/** Folders for `--cert-path`, each with one error. */
async function writeCertificates(): Promise<void> {
  const { cert, key } = await selfSignedCertificate();
  const other = await selfSignedCertificate();
  const half = (pem: Buffer): Buffer => pem.subarray(0, pem.length / 2);
  const locked = createPrivateKey(key).export({
    type: 'pkcs8',
    format: 'pem',
    cipher: 'aes-256-cbc',
    passphrase: 'secret',
  });
  const pairs: Readonly<Record<string, readonly [string | Buffer, string | Buffer]>> = {
    'no-pem': ['hello', key],
    swapped: [key, cert],
    cut: [half(cert), key],
    'cut-key': [cert, half(key)],
    'other-key': [cert, other.key],
    locked: [cert, locked],
  };
  for (const [name, [crt, keyText]] of Object.entries(pairs)) {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, 'tls.crt'), crt);
    writeFileSync(join(folder, name, 'tls.key'), keyText);
  }
}

afterAll(async () => {
  await runs.stop();
  busy.close();
  rmSync(folder, { recursive: true, force: true });
});

const pointsman = (...args: readonly string[]): Promise<ProgramRun> =>
  runs.run(args.map((arg) => (arg === 'BUSY' ? busyPort : arg)));

const SERVE = ['serve', '--host', '127.0.0.1', '--endpoints', '127.0.0.1:1'];
const SIMULATE = ['simulate', '--trace', TRACE];

describe('[O160] bad input ends in a sentence and exit code 2', () => {
  it.each([
    // This is the whole output: gRPC prints nothing in addition.
    [
      [...SERVE, '--insecure', '--extproc-port', 'BUSY'],
      /^cannot listen on 127\.0\.0\.1:\d+: the port is taken: another process listens there already, or has a connection from it; stop it, or choose another port\n$/,
    ],
    [
      [...SERVE, '--insecure', '--extproc-port', '0', '--metrics-port', 'BUSY'],
      /listens there already, or /,
    ],
    [['completion'], /^error: missing .*\nfor example: pointsman completion bash$/m],
    [
      [...SERVE, '--pool-name', 'x', '--kubeconfig', 'none'],
      /--kubeconfig none: is not there: give a kubeconfig that kubectl accepts$/m,
    ],
    [
      ['replay', '--target', '127.0.0.1:1', '--trace', TRACE],
      /is not an http or https address, such as http:/,
    ],
    [[...SERVE, '--cert-path', 'folder'], /^folder\/tls\.crt: is not there$/m],
    [
      [...SERVE, '--cert-path', 'no-pem'],
      /no-pem\/tls\.crt: is not PEM: it has no line -+BEGIN CERT/,
    ],
    [
      [...SERVE, '--cert-path', 'swapped'],
      /swapped\/tls\.crt: has a PRIVATE KEY; it must have a CERT/,
    ],
    [[...SERVE, '--cert-path', 'cut'], /cut\/tls\.crt: is a damaged CERTIFICATE \(.+\)/],
    [[...SERVE, '--cert-path', 'cut-key'], /cut-key\/tls\.key: is a damaged PRIVATE KEY \(.+\)/],
    [[...SERVE, '--cert-path', 'other-key'], /tls\.key: is not the key of other-key\/tls\.crt \(/],
    [[...SERVE, '--cert-path', 'locked'], /locked\/tls\.key: is encrypted with a passphrase/],
    [[...SERVE, '--capture', '/proc/nope'], /--capture: the folder \/proc\/nope cannot be made/],
    [[...SERVE, '--capture', 'empty.csv'], /--capture: the folder empty\.csv cannot be made/],
    [
      [...SERVE, '--shadow', 'default', '--shadow-log', '/proc/nope/log.jsonl'],
      /--shadow-log: the folder \/proc\/nope cannot be made/,
    ],
    // One line: a file that is no YAML has hundreds of errors.
    [[...SERVE, '--config', 'broken.yaml'], /^broken\.yaml:\n {2}line 2, column \d+: .*\n$/],
    // The file says where endpoints are, so that the pods of the other flags are not looked for.
    [
      [
        '--endpoint-selector=app=x',
        '--endpoint-target-ports=8000',
        '--config-file=listed.yaml',
        '--grpc-port=0',
      ],
      /^nowhere\.yaml:\n {2}file: is not there$/m,
    ],
    [
      ['check', 'defalt'],
      /^configuration:\n {2}defalt: is neither a file nor a built-in configuration \(did you mean default\?\)\n$/,
    ],
    [
      ['redecide', 'broken.yaml'],
      /broken\.yaml:\n {2}byte 0: is neither zstd nor JSON, as a capture is/,
    ],
    [
      ['stub', '--count', '3', '--port', '65535'],
      /--port: 65535 is too high for 3 consecutive ports: give at most 65533, or 0/,
    ],
    [
      ['stub', '--port', '65536'],
      /--port: 65536 is no port: give a whole number from 0 to 65535$/m,
    ],
    [['stub', '--port=-1'], /--port: -1 is no port: give a whole number from 0 to 65535$/m],
    [['gateway', '--port', 'BUSY'], /listens there already, or /],
    [['sidecar', '--host', '127.0.0.1', '--port', 'BUSY'], /listens there already, or /],
    [['stub', '--count', '1', '--port', 'BUSY'], /listens there already, or /],
    [
      ['stub', '--count', '1', '--port', '0', '--kv-events-port', 'BUSY'],
      /cannot listen on tcp:.*: the port is taken: another process listens/,
    ],
    [['stub', '--pool', 'missing.yaml'], /^missing\.yaml: is not there$/m],
    [['stub', '--pool', 'broken.yaml'], /line 2, column \d+: /],
    [
      ['stub', '--pool', POOL, '--preset', 'llama-3.1-8b-l40s'],
      /--preset: cannot be used with --pool: put the options of servers into the file/,
    ],
    [['stub', '--calibrated', 'folder'], /folder/],
    [
      [...SIMULATE, '--pool', POOL, '--price', '2', '--price', 'h100=3'],
      /'h100=3' is invalid\. h100 is not a preset; the presets are study, /,
    ],
    [
      [...SIMULATE, '--pool', POOL, '--share-delay-ms', '50'],
      /--share-delay-ms: 50 has no effect with one picker: give --replicas of 2 or more, too/,
    ],
    [[...SIMULATE, '--pool', 'broken.yaml'], /line 2, column \d+: /],
    [['simulate', '--trace', 'empty.jsonl', '--pool', POOL], /is empty/],
    [['trace', 'convert', 'empty.jsonl', 'out.jsonl'], /is empty/],
    [['redecide', 'empty.jsonl'], /is empty/],
    [['calibrate', '--points', 'missing.csv'], /^missing\.csv: is not there$/m],
    [['calibrate', '--steps', 'empty.csv'], /has no rows/],
    // The error is the first output: no stub has started, although the first one could.
    [
      ['demo', '--no-envoy', '--policies', 'default,nowhere,broken.yaml,neither'],
      /^--policies:\n {2}nowhere: is neither a file .*\n {2}broken\.yaml: .*\n(?: {4}.*\n)* {2}neither: is neither a file /,
    ],
  ])('%j', async (args, sentence) => {
    const { code, stderr: all } = await pointsman(...args);
    // A picker of a case before may log a scrape while it ends: commands run in this process.
    const stderr = all.replaceAll(/^\{"level":40,.*"failure":"unreachable".*\n/gm, '');
    expect(stderr).toMatch(sentence);
    expect(stderr).not.toMatch(/^\s+at /m);
    expect(code).toBe(2);
  });
});

it('[O160] bad input ends a process that has opened ports already, too', () => {
  const args = [...SERVE, '--insecure', '--extproc-port', '0', '--metrics-port', busyPort];
  const { status, stderr } = spawnSync(process.execPath, [PROGRAM, ...args], { encoding: 'utf8' });
  expect(stderr).toMatch(/listens there already, or /);
  expect(status).toBe(2);
});

describe('[O277] flags of serve that cannot be meant so', () => {
  it.each([
    [
      [...SERVE, '--insecure', '--extproc-port', '9090'],
      /^command line:\n {2}--extproc-port: 9090 is the port of --metrics-port, too: give one of them another port\n$/,
    ],
    [
      [...SERVE, '127.0.0.1:2', '127.0.0.1:3'],
      /^error: no option of serve takes "127\.0\.0\.1:2", "127\.0\.0\.1:3": separate several values by commas/,
    ],
  ])('%j', async (args, sentence) => {
    const { code, stderr } = await pointsman(...args);
    expect(stderr).toMatch(sentence);
    expect(code).toBe(2);
  });
});

describe('bounds', () => {
  it.each([
    [['stub', '--count', '0'], /^command line:\n {2}--count: 0 must be at least 1\n$/],
    [['stub', '--preset', 'none'], /--preset: none must be one of "study", /],
  ])('[O248] names flag and value of %j, not the field of a file', async (args, message) => {
    expect(await pointsman(...args)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(message) as string,
    });
  });

  it.each([
    [['check', 'folder'], /^configuration:\n {2}folder: is a folder\n$/],
    [['serve', '--endpoints-file', 'none.yaml'], /^none\.yaml:\n {2}file: is not there\n$/],
  ])('[O249] says of %j what is wrong with the file in words', async (args, message) => {
    expect(await pointsman(...args)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(message) as string,
    });
  });

  it.each(['--capture-max-bytes', '--shadow-log-max-bytes'])(
    '[T125] %s of less than a mebibyte is refused, with the bound',
    async (flag) => {
      for (const bytes of ['0', '1048575']) {
        const { code, stderr } = await pointsman(...SERVE, flag, bytes);
        expect(stderr).toContain(`${bytes} bytes are too few; give at least 1048576.`);
        expect(code).toBe(2);
      }
      // The text names the bound only if the value is below it.
      const { stderr } = await pointsman(...SERVE, flag, '1048576', '--config', 'broken.yaml');
      expect(stderr).toMatch(/^broken\.yaml/);
    },
  );
});

it('[G288] redecide of a capture without any decision is no success, and says what is missing', async () => {
  const { code, stdout, stderr } = await pointsman('redecide', 'idle.jsonl', '--json');
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(
    /^idle\.jsonl:\n {2}capture: holds no decision; idle\.jsonl:1: 2 files of the same run are missing/,
  );
});
