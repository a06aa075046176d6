import type { MoriIoOptions } from '../../../src/sidecar/contracts/mori-io.ts';
import {
  type KvConnector,
  type SidecarOptions,
} from '../../../src/sidecar/options/sidecar-options.ts';

/**
 * Each contract is walked once without a fault, and then once for each place in it: a server's n-th
 * request has arrived, its answer has its headers, or a part of its body. There the client leaves,
 * that server leaves, or it is silent from then on.
 */

export type Role = 'encoder' | 'bootstrap' | 'prefiller' | 'engine';
export type Phase = 'arrived' | 'headers' | 'part';
export interface Place {
  readonly role: Role;
  /** Counts the requests of a role. */
  readonly visit: number;
  readonly phase: Phase;
}
export type Fault = 'client leaves' | 'server leaves' | 'server is silent';

export const PHASES: readonly Phase[] = ['arrived', 'headers', 'part'];
export const nameOf = ({ role, visit, phase }: Place): string => `${role} ${visit} ${phase}`;

const MEDIA = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } };
export const CHAT: object = {
  model: 'm',
  max_tokens: 20,
  stream: true,
  messages: [{ role: 'user', content: [{ type: 'text', text: 'hello' }, MEDIA] }],
};
export const KV: object = { do_remote_prefill: true, remote_host: '10.0.0.9', remote_port: 5600 };
export const said = (finish_reason: string | null): string =>
  JSON.stringify({
    id: 'x',
    choices: [{ index: 0, delta: { content: 'a' }, message: { content: 'a' }, finish_reason }],
    usage: { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 },
  });
export const STREAM: readonly [string, string] = [
  `data: ${said(null)}\n\n`,
  `data: ${said('stop')}\n\ndata: [DONE]\n\n`,
];

export interface Walk {
  readonly name: string;
  readonly options: Partial<SidecarOptions>;
  readonly body?: object;
  /** Has the media encoded elsewhere, too. */
  readonly encodes?: boolean;
  readonly prefills?: boolean;
  /** The first answer of the engine, where it is not a stream to its end. */
  readonly firstAnswer?: readonly [string, string];
  readonly pieces?: boolean;
}

export const MORI: Omit<MoriIoOptions, 'atOnce'> = {
  localHost: () => '10.0.0.1',
  notifyPort: 1,
  handshakePort: 2,
  prefillNotifyPort: 3,
  prefillHandshakePort: 4,
  tensorParallelSize: 1,
  dataParallelSize: 1,
  dataParallelSizeLocal: 0,
  decodeHosts: () => [],
  prefillHosts: () => [],
};
const of = (connector: KvConnector): Walk => ({ name: connector, options: { connector } });

/** A walk for each connector, and for what else changes the legs. */
export const WALKS: readonly Walk[] = [
  { ...of('nixlv2'), name: 'nixlv2 with an encoder', encodes: true },
  { name: 'nixlv2 asked again', options: { connector: 'nixlv2', prefillRetries: 1 } },
  {
    name: 'nixlv2 over MoRI-IO',
    options: { connector: 'nixlv2', moriIo: { ...MORI, atOnce: false } },
  },
  {
    name: 'nixlv2 over MoRI-IO at once',
    options: { connector: 'nixlv2', moriIo: { ...MORI, atOnce: true } },
  },
  of('sglang'),
  of('mooncake'),
  of('offloading'),
  of('atom'),
  of('shared-storage'),
  {
    ...of('shared-storage'),
    name: 'shared-storage with a threshold',
    body: { ...CHAT, cache_hit_threshold: 0.8 },
    firstAnswer: ['', `data: ${said('cache_threshold')}\n\n`],
  },
  {
    name: 'a chat decoded in pieces',
    options: { decodeChunkTokens: 4 },
    body: { ...CHAT, max_tokens: 8 },
    prefills: false,
    pieces: true,
  },
  { name: 'the engine alone', options: {}, prefills: false },
];

/** Whether both legs of the request are sent at once. */
export function isAtOnce({ options: { connector, moriIo } }: Walk): boolean {
  return connector === 'sglang' || connector === 'mooncake' || moriIo?.atOnce === true;
}
