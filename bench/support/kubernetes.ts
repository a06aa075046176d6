import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KubeConfig, RequestContext } from '@kubernetes/client-node';
import { builtKubernetes, type KubernetesBinaries } from './kubernetes-binaries.ts';
import { skipped } from './skipped.ts';
import { eventually } from './stack.ts';

/** Binaries of an earlier build. Throws without them in CI, and where these tests are requested. */
export function kubernetesOrSkip(): KubernetesBinaries | undefined {
  const built = builtKubernetes();
  if (built !== undefined) return built;
  return skipped(
    'every test that needs a real Kubernetes API server',
    'there is no kube-apiserver: `npm run test:kubernetes` builds one with Go, in about five minutes, once',
  );
}

export interface ApiServer {
  /** With all rights. */
  readonly config: KubeConfig;
  /** As the service account `default/picker`, which has no rights until a role is bound to it. */
  readonly pickerConfig: KubeConfig;
  /** The authority of its certificate. */
  readonly authorityFile: string;
  /** Kills the server, not its store. */
  kill(): Promise<void>;
  /** Starts the same server over the same store again. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

const TOKEN = 'pointsman-test';
const PICKER_TOKEN = 'pointsman-picker';
export const PICKER_ACCOUNT = 'picker';

/** Starts a kube-apiserver with its own etcd on the loopback. */
export async function startApiServer(binaries: KubernetesBinaries): Promise<ApiServer> {
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-kubernetes-'));
  const [clientPort, peerPort, port] = [await freePort(), await freePort(), await freePort()];
  const etcd = start(binaries.etcd, etcdArgs(folder, clientPort, peerPort));
  const args = apiServerArgs(folder, port, clientPort);
  let server = start(binaries.apiServer, args);
  const url = `https://127.0.0.1:${port}`;
  const config = configFor(url, TOKEN);
  await serves(config);
  return {
    config,
    pickerConfig: configFor(url, PICKER_TOKEN),
    authorityFile: join(folder, 'certificates', 'apiserver.crt'),
    kill: () => end(server),
    restart: async () => {
      server = start(binaries.apiServer, args);
      await serves(config);
    },
    stop: async () => {
      await end(server);
      await end(etcd);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function etcdArgs(folder: string, clientPort: number, peerPort: number): readonly string[] {
  const clientUrl = `http://127.0.0.1:${clientPort}`;
  const peerUrl = `http://127.0.0.1:${peerPort}`;
  return [
    `--data-dir=${join(folder, 'etcd')}`,
    '--unsafe-no-fsync',
    `--listen-client-urls=${clientUrl}`,
    `--advertise-client-urls=${clientUrl}`,
    `--listen-peer-urls=${peerUrl}`,
    `--initial-advertise-peer-urls=${peerUrl}`,
    `--initial-cluster=default=${peerUrl}`,
  ];
}

/** Writes the server's key and tokens into the folder. */
function apiServerArgs(folder: string, port: number, etcdPort: number): readonly string[] {
  const key = join(folder, 'service-account.key');
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  writeFileSync(key, privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const tokens = join(folder, 'tokens.csv');
  const account = `system:serviceaccount:default:${PICKER_ACCOUNT}`;
  writeFileSync(
    tokens,
    `${TOKEN},tester,tester,system:masters\n${PICKER_TOKEN},${account},${account}\n`,
  );
  return [
    `--etcd-servers=http://127.0.0.1:${etcdPort}`,
    `--secure-port=${port}`,
    '--bind-address=127.0.0.1',
    `--cert-dir=${join(folder, 'certificates')}`,
    `--token-auth-file=${tokens}`,
    '--authorization-mode=RBAC',
    `--service-account-key-file=${key}`,
    `--service-account-signing-key-file=${key}`,
    '--service-account-issuer=https://pointsman.test',
    '--service-cluster-ip-range=10.96.0.0/16',
    '--disable-admission-plugins=ServiceAccount',
    '--endpoint-reconciler-type=none',
  ];
}

/** Resolves when the server has the namespace that all objects of the tests are in. */
async function serves(config: KubeConfig): Promise<void> {
  const { CoreV1Api } = await import('@kubernetes/client-node');
  const api = config.makeApiClient(CoreV1Api);
  // The server answers before it has made the namespace.
  const ask = (): Promise<boolean> =>
    api.readNamespace({ name: 'default' }).then(
      () => true,
      () => false,
    );
  await eventually(ask, (yes) => yes).catch(() => {
    throw new Error('kube-apiserver did not come up within a minute');
  });
}

/**
 * Its clients keep their connections. Kubernetes' client opens one for each request otherwise, and
 * a handshake takes longer than most requests.
 */
class KeptConnections extends KubeConfig {
  #dispatcher: ReturnType<RequestContext['getDispatcher']>;

  override async applySecurityAuthentication(request: RequestContext): Promise<void> {
    await super.applySecurityAuthentication(request);
    if (!(request instanceof RequestContext)) return;
    this.#dispatcher ??= request.getDispatcher();
    if (this.#dispatcher !== undefined) request.setDispatcher(this.#dispatcher);
  }
}

/** The kubeconfig of an API server of these tests. */
export function configFor(server: string, token: string = TOKEN): KubeConfig {
  const options = {
    clusters: [{ name: 'test', server, skipTLSVerify: true }],
    users: [{ name: 'tester', token }],
    contexts: [{ name: 'test', cluster: 'test', user: 'tester' }],
    currentContext: 'test',
  };
  const [config, clients] = [new KubeConfig(), new KeptConnections()];
  for (const each of [config, clients]) each.loadFromOptions(options);
  // A picker ends its connections: it gets some of its own.
  config.makeApiClient = (type) => clients.makeApiClient(type);
  return config;
}

/** Ends the server when the standard input ends, also when a test run is killed. */
const GUARD = '"$@" & server=$!; cat >/dev/null; kill -9 $server; wait $server';

/** Both servers live for seconds: their start takes 1.35 s of CPU in place of 1.5. */
const RARE_COLLECTION = '400';

function start(binary: string, args: readonly string[]): ChildProcess {
  return spawn('sh', ['-c', GUARD, 'sh', binary, ...args], {
    stdio: ['pipe', 'ignore', 'ignore'],
    env: { ...process.env, GOGC: RARE_COLLECTION },
  });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.stdin?.end();
  await exited;
}

/**
 * Below the ports that systems give to connections and to servers on port 0: another process on a
 * busy machine cannot get it before its server has started.
 */
async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = PORT_MIN + Math.floor(Math.random() * (PORT_MAX - PORT_MIN));
    const server = createServer();
    const bound = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!bound) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
  throw new Error(`no free port from ${PORT_MIN} to ${PORT_MAX}`);
}

const PORT_MIN = 15_000;
const PORT_MAX = 32_000;
