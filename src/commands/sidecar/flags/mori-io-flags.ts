import type { Command } from 'commander';
import { commandLineError, messageOf } from '../../../framework/error.ts';
import type { Clock } from '../../../framework/runtime.ts';
import { NameResolver } from '../../../runtime/network/name-resolver.ts';
import type { MoriIoOptions } from '../../../sidecar/contracts/mori-io.ts';
import { HostAddresses } from '../../../sidecar/options/host-addresses.ts';
import { atLeastOne, port, wholeNumber } from '../../options/option-values.ts';

/** Flags about MoRI-IO, by the reference's names. */
export interface MoriIoFlags {
  readonly moriioWriteMode: boolean;
  readonly moriioParallelDispatch: boolean;
  readonly moriioLocalPodIp?: string;
  readonly moriioDecodeNotifyPort: number;
  readonly moriioDecodeHandshakePort: number;
  readonly moriioPrefillNotifyPort: number;
  readonly moriioPrefillHandshakePort: number;
  readonly moriioTpSize: number;
  readonly moriioDpSize: number;
  readonly moriioDpSizeLocal: number;
  readonly moriioRemoteHosts: readonly string[];
  readonly moriioDecodeHosts: readonly string[];
}

const NOTIFY_PORT = 61_005;
const HANDSHAKE_PORT = 6_301;

export function addMoriIoOptions(command: Command): Command {
  return command
    .option(
      '--moriio-write-mode',
      'engines under nixlv2 use MoRI-IO in WRITE mode: the prefilling one writes the KV',
      false,
    )
    .option('--moriio-parallel-dispatch', 'then send both requests at once', false)
    .option('--moriio-local-pod-ip <host>', 'host that prefilling engines write to: --pod-ip')
    .option('--moriio-decode-notify-port <port>', 'its port for notices', port, NOTIFY_PORT)
    .option('--moriio-decode-handshake-port <port>', 'and for handshakes', port, HANDSHAKE_PORT)
    .option('--moriio-prefill-notify-port <port>', 'the same of prefilling pods', port, NOTIFY_PORT)
    .option('--moriio-prefill-handshake-port <port>', 'and these', port, HANDSHAKE_PORT)
    .option('--moriio-tp-size <n>', 'tensor-parallel size of the engines', atLeastOne, 1)
    .option('--moriio-dp-size <n>', 'data-parallel size over all pods', atLeastOne, 1)
    .option(
      '--moriio-dp-size-local <n>',
      'ranks of one pod, where there are several',
      wholeNumber,
      0,
    )
    .option('--moriio-remote-hosts <host,…>', 'hosts of the prefilling pods, by rank', hosts, [])
    .option('--moriio-decode-hosts <host,…>', 'hosts of the decoding pods, by rank', hosts, []);
}

interface MoriIo {
  readonly options: MoriIoOptions | undefined;
  stop(): void;
}

/** What the flags say; hosts are looked up, and followed. Rejects with a ConfigError. */
export async function moriIoFrom(
  flags: MoriIoFlags & { readonly podIp?: string },
  { clock, log }: { readonly clock: Clock; readonly log: (line: string) => void },
): Promise<MoriIo> {
  if (!flags.moriioWriteMode) return withoutMoriIo(flags);
  const localHost = localHostOf(flags);
  checkHosts('--moriio-remote-hosts', flags.moriioRemoteHosts, flags);
  checkHosts('--moriio-decode-hosts', flags.moriioDecodeHosts, flags);
  const resolver = new NameResolver();
  const resolve = resolver.resolve.bind(resolver);
  const follow = (flag: string, names: readonly string[]): Promise<HostAddresses> =>
    HostAddresses.follow(names, { resolve, clock, log }).catch((error: unknown) => {
      const reason = messageOf(error);
      throw commandLineError(flag, `cannot be looked up (${reason}): give hosts that exist`);
    });
  const local = await follow('--moriio-local-pod-ip', [localHost]);
  const prefill = await follow('--moriio-remote-hosts', flags.moriioRemoteHosts);
  const decode = await follow('--moriio-decode-hosts', flags.moriioDecodeHosts);
  return {
    options: {
      ...plainOptions(flags),
      localHost: () => local.current()[0] ?? localHost,
      decodeHosts: () => decode.current(),
      prefillHosts: () => prefill.current(),
    },
    stop: () => {
      for (const each of [local, prefill, decode]) each.stop();
      resolver.close();
    },
  };
}

function withoutMoriIo({ moriioParallelDispatch: isParallel }: MoriIoFlags): MoriIo {
  if (!isParallel) return { options: undefined, stop: () => undefined };
  const message = 'needs --moriio-write-mode: give it, too';
  throw commandLineError('--moriio-parallel-dispatch', message);
}

/** The address that engines write to. */
function localHostOf({
  moriioLocalPodIp,
  podIp,
}: Pick<MoriIoFlags, 'moriioLocalPodIp'> & { readonly podIp?: string }): string {
  const host = moriioLocalPodIp ?? podIp;
  if (host !== undefined) return host;
  const message = 'needs --moriio-local-pod-ip or $POD_IP: the address that engines write to';
  throw commandLineError('--moriio-write-mode', message);
}

/** What needs no look-up. */
function plainOptions(
  flags: MoriIoFlags,
): Omit<MoriIoOptions, 'localHost' | 'decodeHosts' | 'prefillHosts'> {
  return {
    notifyPort: flags.moriioDecodeNotifyPort,
    handshakePort: flags.moriioDecodeHandshakePort,
    prefillNotifyPort: flags.moriioPrefillNotifyPort,
    prefillHandshakePort: flags.moriioPrefillHandshakePort,
    tensorParallelSize: flags.moriioTpSize,
    dataParallelSize: flags.moriioDpSize,
    dataParallelSizeLocal: flags.moriioDpSizeLocal,
    atOnce: flags.moriioParallelDispatch,
  };
}

/** Engines find the pod of a rank by division: a wrong number of hosts would hang transfers. */
function checkHosts(
  flag: string,
  { length }: readonly string[],
  { moriioDpSize, moriioDpSizeLocal }: MoriIoFlags,
): void {
  if (length <= 1) return;
  const pods = moriioDpSize / moriioDpSizeLocal;
  if (pods === length) return;
  const message = `names ${length} hosts: --moriio-dp-size ${moriioDpSize} divided by --moriio-dp-size-local ${moriioDpSizeLocal} must give as many`;
  throw commandLineError(flag, message);
}

function hosts(text: string, before: readonly string[]): readonly string[] {
  const named = text.split(',').map((each) => each.trim());
  return [...before, ...named.filter((each) => each !== '')];
}
