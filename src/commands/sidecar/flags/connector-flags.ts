import { type Command, Option } from 'commander';
import {
  EC_CONNECTORS,
  type EcConnector,
  KV_CONNECTORS,
  type KvConnector,
  SIDECAR_DEFAULTS,
} from '../../../sidecar/options/sidecar-options.ts';
import { atLeastOne, port } from '../../options/option-values.ts';

/** How engines pass KV and embeddings on. */
export interface ConnectorFlags {
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
  readonly podIp?: string;
}

/** 64 KiB of block ids each at most. */
const TURNS_MAX = 1_000;
/** As long as vLLM holds the blocks by default. */
const TURN_KEPT_MS = 480_000;

export function addConnectorOptions(command: Command): Command {
  const { connector, ecConnector } = SIDECAR_DEFAULTS;
  const { p2pPort, mooncakeBootstrapPort, sglangBootstrapPort, atomRanks } = SIDECAR_DEFAULTS;
  return command
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
