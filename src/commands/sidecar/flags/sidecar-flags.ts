import { type Command, InvalidArgumentError, Option } from 'commander';
import { isHostPort } from '../../endpoints/discovery/file/host-port.ts';
import { messageOf } from '../../framework/error.ts';
import { type AllowedServers, listedServers } from '../../sidecar/allowed-servers.ts';
import {
  EC_CONNECTORS,
  type EcConnector,
  KV_CONNECTORS,
  type KvConnector,
  SIDECAR_BOUNDS,
  SIDECAR_DEFAULTS,
  type UpstreamRole,
} from '../../sidecar/sidecar-options.ts';
import { addTimeLimit, atLeastOne, port, wholeNumber } from '../options/option-values.ts';
import { addMoriIoOptions, type MoriIoFlags } from './mori-io-flags.ts';

export interface SidecarFlags extends MoriIoFlags {
  readonly host: string;
  readonly port: number;
  readonly engine: string;
  readonly dataParallelSize: number;
  readonly prefillers?: AllowedServers;
  readonly encoders?: AllowedServers;
  readonly inferencePool?: string;
  readonly kubeconfig?: string;
  readonly kvConnector: KvConnector;
  readonly ecConnector: EcConnector;
  readonly enableP2pPull: boolean;
  readonly bidirectionalKvXfer: boolean;
  readonly bidirectionalCacheSize: number;
  readonly bidirectionalCacheTtlMs: number;
  readonly p2pConnectorPort: number;
  readonly mooncakeBootstrapPort: number;
  readonly sglangBootstrapPort: number;
  readonly atomDpSize: number;
  readonly enablePrefillerSampling: boolean;
  readonly enableSpeculativePrefill: boolean;
  readonly prefillMaxRetries: number;
  readonly prefillRetryBackoffMs: number;
  readonly decodeChunkSize: number;
  readonly podIp?: string;
  readonly maxBodyBytes: number;
  readonly maxBufferedBytes: number;
  readonly maxRequests: number;
  readonly uploadTimeoutMs: number;
  readonly clientIdleTimeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly prefillTimeoutMs: number;
  readonly encodeTimeoutMs: number;
  readonly firstByteTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly drainNoticeMs: number;
  readonly drainTimeoutMs: number;
  readonly secureServing: boolean;
  readonly certPath?: string;
  readonly tlsMinVersion?: string;
  readonly tlsCipherSuites?: string;
  readonly enableTls: readonly UpstreamRole[];
  readonly tlsInsecureSkipVerify: readonly UpstreamRole[];
  readonly tlsCa?: string;
  readonly metricsPort?: number;
  readonly metricsCertDir?: string;
  readonly tracing: boolean;
  readonly json: boolean;
}

/** The options of `pointsman sidecar`. */
export function addSidecarOptions(command: Command): Command {
  command
    .option('--host <address>', 'listen on this address', '0.0.0.0')
    .option('--port <port>', 'listen on this port; 0 selects a free one', port, 8000)
    .option('--engine <host:port>', 'the decoding server', server, '127.0.0.1:8200')
    .option(
      '--data-parallel-size <n>',
      'ranks of the decoding server: one port for each, before as many ports of the engine',
      atLeastOne,
      SIDECAR_DEFAULTS.dataParallelSize,
    );
  addServers(command);
  addConnectors(command);
  addPrefill(command);
  addMoriIoOptions(command);
  addBounds(command);
  return addTls(command)
    .option('--metrics-port <port>', 'serve /metrics, /healthz and /readyz here', port)
    .option(
      '--metrics-cert-dir <folder>',
      'serve the metrics port by TLS with tls.crt and tls.key of this folder, read again when they change',
    )
    .option(
      '--tracing',
      'send OpenTelemetry traces of requests and their legs, as of serve; see docs/telemetry.md',
      false,
    )
    .option('--json', 'print the address as one JSON document on stdout once listening', false);
}

function addServers(command: Command): void {
  command
    .option(
      '--prefillers <server,…>',
      'prefilling servers that requests may name: host:port, or addresses such as 10.0.0.0/16; any private address without it',
      servers,
    )
    .option('--encoders <server,…>', 'the same for encoders of media', servers)
    .option(
      '--inference-pool <namespace/name>',
      'requests may name the pods of this InferencePool, and no other server',
    )
    .option('--kubeconfig <file>', 'how to reach the API server of that pool outside a cluster');
}

/** 64 KiB of block ids each at most. */
const TURNS_MAX = 1_000;
/** As long as vLLM holds the blocks, where it is not told otherwise. */
const TURN_KEPT_MS = 480_000;

function addConnectors(command: Command): void {
  const { connector, ecConnector } = SIDECAR_DEFAULTS;
  const { p2pPort, mooncakeBootstrapPort, sglangBootstrapPort, atomRanks } = SIDECAR_DEFAULTS;
  command
    .addOption(
      new Option('--kv-connector <name>', 'how the engines pass KV on')
        .choices(KV_CONNECTORS)
        .default(connector),
    )
    .addOption(
      new Option(
        '--ec-connector <name>',
        'how encoders pass embeddings on; auto: as their answers say, none: encoders are not used',
      )
        .choices(EC_CONNECTORS)
        .default(ecConnector),
    )
    .option('--enable-p2p-pull', 'engines under nixlv2 can take cached blocks from peers', false)
    .option(
      '--bidirectional-kv-xfer',
      'prefilling engines under nixlv2 take the KV of earlier turns from the decoding one, which holds it',
      false,
    )
    .option('--bidirectional-cache-size <turns>', 'turns to know of at most', atLeastOne, TURNS_MAX)
    .option(
      '--bidirectional-cache-ttl-ms <ms>',
      'how long a turn is known: decoder_kv_blocks_ttl of the engines',
      atLeastOne,
      TURN_KEPT_MS,
    )
    .option('--p2p-connector-port <port>', 'where engines give blocks to peers', port, p2pPort)
    .option(
      '--mooncake-bootstrap-port <port>',
      'Mooncake’s bootstrap server on prefilling pods',
      port,
      mooncakeBootstrapPort,
    )
    .option(
      '--sglang-bootstrap-port <port>',
      'SGLang’s bootstrap server on prefilling pods',
      port,
      sglangBootstrapPort,
    )
    .option('--atom-dp-size <n>', 'data-parallel ranks of ATOM engines', atLeastOne, atomRanks)
    .option('--pod-ip <address>', 'address of this pod, as other pods reach it');
}

function addPrefill(command: Command): void {
  const { prefillRetries, prefillRetryBackoffMs, decodeChunkTokens } = SIDECAR_DEFAULTS;
  command
    .option(
      '--enable-prefiller-sampling',
      'draw one of several prefilling servers that a request names, instead of the first',
      false,
    )
    .option(
      '--enable-speculative-prefill',
      'after a chat with the header x-speculative-prefill, compute it with its answer, ahead of the next turn',
      false,
    )
    .option(
      '--prefill-max-retries <n>',
      'ask a prefilling server again after 502, 503, 504 and broken connections',
      wholeNumber,
      prefillRetries,
    )
    .option(
      '--prefill-retry-backoff-ms <ms>',
      'wait so long before that',
      atLeastOne,
      prefillRetryBackoffMs,
    )
    .option(
      '--decode-chunk-size <tokens>',
      'decode chats in pieces of at most so many tokens; 0: in one piece',
      wholeNumber,
      decodeChunkTokens,
    );
}

function addBounds(command: Command): void {
  const { bodyBytesMax, bufferedBytesMax, requestsMax, ...times } = SIDECAR_BOUNDS;
  const ms = addTimeLimit.bind(undefined, command);
  command
    .option('--max-body-bytes <n>', 'refuse longer bodies with 413', atLeastOne, bodyBytesMax)
    .option(
      '--max-buffered-bytes <n>',
      'bodies of all requests that are not yet answered; refuse more with 503',
      atLeastOne,
      bufferedBytesMax,
    )
    .option('--max-requests <n>', 'refuse more open requests with 503', atLeastOne, requestsMax);
  ms('upload-timeout-ms', 'longest upload of a body', times.uploadTimeoutMs);
  ms('client-idle-timeout-ms', 'longest standstill of a client', times.clientIdleTimeoutMs);
  ms('connect-timeout-ms', 'longest wait for a connection', times.connectTimeoutMs);
  ms(
    'prefill-timeout-ms',
    'longest prefill elsewhere, then it is done here',
    times.prefillTimeoutMs,
  );
  ms('encode-timeout-ms', 'the same for encoding', times.encodeTimeoutMs);
  ms('first-byte-timeout-ms', 'longest wait for the engine’s headers', times.firstByteTimeoutMs);
  ms('idle-timeout-ms', 'longest pause within the engine’s answer', times.idleTimeoutMs);
  command
    .option(
      '--drain-notice-ms <ms>',
      'after SIGTERM, fail health checks for so long before closing the port',
      wholeNumber,
      5_000,
    )
    .option(
      '--drain-timeout-ms <ms>',
      'then let open requests go on for at most so long',
      wholeNumber,
      60_000,
    );
}

function addTls(command: Command): Command {
  return command
    .option('--secure-serving', 'serve the port by TLS', false)
    .option(
      '--cert-path <folder>',
      'folder with tls.crt and tls.key for that, read again when they change; without it a ' +
        'self-signed certificate is made',
    )
    .option('--tls-min-version <version>', 'oldest version of TLS: 1.2 or 1.3', '1.2')
    .option(
      '--tls-cipher-suites <names>',
      'cipher suites by their standard names, separated by commas; default: those of Node',
    )
    .option('--enable-tls <role,…>', 'use TLS to prefiller, decoder, encoder', roles, [])
    .option('--tls-insecure-skip-verify <role,…>', 'do not verify certificates of these', roles, [])
    .option('--tls-ca <file>', 'PEM file of the CAs to trust instead of the well-known ones');
}

function servers(text: string): AllowedServers {
  try {
    return listedServers(text.split(',').map((each) => each.trim()));
  } catch (error) {
    throw new InvalidArgumentError(`${messageOf(error)}.`);
  }
}

function server(text: string): string {
  if (!isHostPort(text)) throw new InvalidArgumentError('must be host:port.');
  return text;
}

const ROLES: readonly UpstreamRole[] = ['prefiller', 'decoder', 'encoder'];

/** Several flags add up. */
function roles(text: string, before: readonly UpstreamRole[]): readonly UpstreamRole[] {
  const named = text.split(',').map((each) => {
    const role = ROLES.find((name) => name === each.trim());
    if (role !== undefined) return role;
    throw new InvalidArgumentError(`${each} is none of ${ROLES.join(', ')}.`);
  });
  return [...before, ...named];
}
