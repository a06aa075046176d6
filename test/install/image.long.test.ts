import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { issue, newAuthority } from '../support/servers/certificates.ts';
import { type BuiltImage, buildImage, prepareImageBase } from './image-tools.ts';

/** The image of deploy/Dockerfile, built and started. `npm run test:image` never skips it. */

const MADE_MS = 1_500_000;
const unavailable = await prepareImageBase((line) => process.stderr.write(`${line}\n`));
if (unavailable !== undefined) process.stderr.write(`SKIPPED: the image. ${unavailable}\n`);

describe.skipIf(unavailable !== undefined)('the container image', () => {
  let image: BuiltImage;
  const children: ChildProcess[] = [];

  beforeAll(async () => {
    image = await buildImage({
      VERSION: '1.2.3',
      REVISION: 'abc',
      CREATED: '2026-11-22T00:00:00Z',
    });
  }, MADE_MS);
  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
  });
  afterAll(() => image?.remove());

  test('[O104] says what it is, in the labels of OCI', () => {
    const { Labels } = image.config;
    expect(Labels).toMatchObject({
      'org.opencontainers.image.title': 'pointsman',
      'org.opencontainers.image.licenses': 'Apache-2.0',
      'org.opencontainers.image.version': '1.2.3',
      'org.opencontainers.image.revision': 'abc',
      'org.opencontainers.image.created': '2026-11-22T00:00:00Z',
      'org.opencontainers.image.base.name': 'localhost/base',
    });
    expect(Object.keys(image.config.ExposedPorts)).toEqual(
      expect.arrayContaining(['9002/tcp', '9003/tcp', '9090/tcp']),
    );
  });

  test('[O104] lists its packages, and has those that only some options need', () => {
    const path = join(image.files, 'app/dist/sbom.cdx.json');
    const { components } = JSON.parse(readFileSync(path, 'utf8')) as {
      readonly components: readonly { readonly group?: string; readonly name: string }[];
    };
    const names = components.map(({ group, name }) => `${group ? `${group}/` : ''}${name}`);
    for (const name of ['@kubernetes/client-node', 'echarts', '@opentelemetry/resources']) {
      expect(names).toContain(name);
      expect(existsSync(join(image.files, 'app/node_modules', name)), name).toBe(true);
    }
    for (const name of ['node', 'vitest', 'typescript']) {
      expect(names).not.toContain(name);
      expect(existsSync(join(image.files, 'app/node_modules', name)), name).toBe(false);
    }
  });

  test('[D564] reads relative paths from the root of its file system', () => {
    expect(image.config.WorkingDir).toBe('/');
  });

  test.each([
    ['/app/pd-sidecar --port=0 --vllm-port=1 --secure-proxy=false', 'sidecar: listens on'],
    ['/app/epp --pool-name p --kubeconfig /none', '--kubeconfig /none: is not there'],
    ['/app/llm-d-inference-sim --model=m --config=/none', '/none: is not there'],
  ])('[D497] has the reference’s programs at their paths: %s', async (command, says) => {
    const child = image.startProgram(command.split(' '));
    children.push(child);
    if (child.stderr === null) throw new Error('no pipe');
    let logged = '';
    for await (const line of createInterface(child.stderr)) {
      logged += `${line}\n`;
      if (line.includes(says)) break;
    }
    expect(logged).toContain(says);
  });

  test.each([
    ['its own user', undefined],
    ['a user that it does not know, in group 0', '1000700000:0'],
  ])(
    '[O105] [P50] serves as %s on a read-only file system, and ends when told',
    async (_who, user) => {
      expect(image.config.User).toBe('65532:65532');
      const ports = '--host 127.0.0.1 --extproc-port 0 --metrics-port 0 --drain-notice-ms 0';
      const args = `serve --json --endpoints 127.0.0.1:9 ${ports} --tracing`;
      const child = image.start(args.split(' '), user);
      children.push(child);
      const { stdout, stderr } = child;
      if (stdout === null || stderr === null) throw new Error('no pipes');
      const logged = text(stderr);
      const first = await Promise.race([
        once(createInterface(stdout), 'line'),
        once(child, 'exit'),
      ]);
      const line = typeof first[0] === 'string' ? first[0] : await logged;
      const { metricsPort } = JSON.parse(line) as { readonly metricsPort: number };
      const page = await fetch(`http://127.0.0.1:${metricsPort}/metrics`);
      expect(await page.text()).toContain('pointsman_');
      expect(readFileSync(`/proc/${child.pid}/status`, 'utf8')).toMatch(
        user === undefined ? /^Uid:\t65532\t/m : /^Uid:\t1000700000\t/m,
      );
      const environment = readFileSync(`/proc/${child.pid}/environ`, 'utf8').split('\0');
      expect(environment).toContain('MALLOC_ARENA_MAX=2');
      child.kill('SIGTERM');
      expect(await once(child, 'exit')).toEqual([0, null]);
      expect(await logged).not.toContain('EROFS');
    },
  );

  test('[B253] asks the API server with the account of its pod', async () => {
    const authority = await newAuthority('cluster');
    const server = createServer(await issue(authority, 'api'), ({ url }, response) => {
      response.writeHead(404).end(url);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    // /var/run of Debian is a link to /run, which leads from here to that of this machine.
    const account = join(image.files, 'run/secrets/kubernetes.io/serviceaccount');
    expect(readlinkSync(join(image.files, 'var/run'))).toBe('/run');
    mkdirSync(account, { recursive: true });
    writeFileSync(join(account, 'token'), 'of the pod');
    writeFileSync(join(account, 'ca.crt'), authority.cert);
    const { port } = server.address() as AddressInfo;
    const pod = ['KUBERNETES_SERVICE_HOST=127.0.0.1', `KUBERNETES_SERVICE_PORT=${port}`];
    const flags = '--host 127.0.0.1 --extproc-port 0 --metrics-port 0 --insecure --pool-name p';
    const program = [...image.config.Entrypoint, 'serve', ...flags.split(' ')];
    children.push(image.startProgram(['env', ...pod, ...program]));
    const [{ url, headers }] = (await once(server, 'request')) as [IncomingMessage];
    expect(url).toContain('/namespaces/default/');
    expect(headers.authorization).toBe('Bearer of the pod');
    server.closeAllConnections();
    server.close();
  });
});
