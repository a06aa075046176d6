import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

/**
 * Writes the address of every module that is loaded to stderr, and at the end those of Node itself.
 */
const NOTING = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module';
  registerHooks({
    load: (url, context, next) => {
      process.stderr.write(url + '\\n');
      return next(url, context);
    },
  });
  process.on('exit', () => process.stderr.write(process.moduleLoadList.join('\\n') + '\\n'));
`)}`;
/** Each serves one option, and takes longer to load than the rest of the picker or nearly so. */
const LARGE = [
  '@kubernetes/client-node',
  '@grpc/grpc-js',
  '@grpc/proto-loader',
  'selfsigned',
  'zeromq',
  '@noble/ciphers',
  'echarts',
  'undici',
  'yaml',
  '@msgpack/msgpack',
  '@opentelemetry/api',
];
/** What of Node itself is loaded with them, or with parts of prom-client that are not used. */
const UNUSED_OF_NODE = ['https', 'inspector', 'inspector/promises'];
/** Node's own undici, which comes with every `import` of `node:http`. */
const UNDICI_OF_NODE = 'internal/deps/undici/undici';
/** TLS, compression, and what comes with every `import` of `node:util`. */
const LOADED_WHEN_USED = ['tls', 'zlib', 'internal/util/diff'];

it('[G8] [P51] [P56] serve loads no large library that its options do not need', async () => {
  const main = join(import.meta.dirname, '..', '..', 'src', 'main.ts');
  const flags =
    'serve --json --insecure --host 127.0.0.1 --log-level error --extproc-port 0 --metrics-port 0 ' +
    '--drain-timeout-ms 0 --endpoints 127.0.0.1:9';
  const picker = spawn(process.execPath, ['--import', NOTING, main, ...flags.split(' ')], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const modules: string[] = [];
  createInterface({ input: picker.stderr }).on('line', (line) => modules.push(line));
  const [line] = (await once(createInterface({ input: picker.stdout }), 'line')) as [string];
  expect(JSON.parse(line)).toHaveProperty('extProcPort');
  picker.kill('SIGINT');
  await once(picker, 'close');
  expect(modules.some((url) => url.includes('/node_modules/prom-client/'))).toBe(true);
  expect(modules).toContain('NativeModule http');
  expect(modules).not.toContain(`NativeModule ${UNDICI_OF_NODE}`);
  for (const name of [...UNUSED_OF_NODE, ...LOADED_WHEN_USED])
    expect(modules).not.toContain(`NativeModule ${name}`);
  const loaded = LARGE.filter((name) => modules.some((url) => url.includes(`/${name}/`)));
  expect(loaded).toEqual([]);
});

/** What a picker in a pod loads to follow its pool: flags cannot say where the account is. */
const IN_A_POD = `
  const { loadApiAccess } = await import('./src/commands/api-access/load-api-access.ts');
  const { startKubernetes } = await import('./src/endpoints/discovery/kubernetes/start-kubernetes.ts');
  await import('./src/serve/election/start-election.ts');
  await import('./src/serve/admin/kubernetes-review.ts');
  const pod = { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: '9' };
  const access = await loadApiAccess(undefined, pod, process.env.ACCOUNT);
  console.log(access.server, typeof startKubernetes);
`;

it('[B253] no client of Kubernetes is loaded in a pod', async () => {
  const account = mkdtempSync(join(tmpdir(), 'pointsman-account-'));
  writeFileSync(join(account, 'token'), 't');
  const flags = ['--import', NOTING, '--input-type=module', '--eval', IN_A_POD];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, flags, {
    cwd: join(import.meta.dirname, '..', '..'),
    env: { ...process.env, ACCOUNT: account },
    maxBuffer: 16 * 1024 * 1024,
  });
  rmSync(account, { recursive: true });
  expect(stdout).toBe('https://127.0.0.1:9 function\n');
  expect(stderr).toContain('/commands/api-access/pod-access.ts');
  expect(stderr).not.toContain('/@kubernetes/');
});
