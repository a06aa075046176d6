import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { prefillDecode } from './configs.ts';
import { binary, Scenario, type Server, servedBy, servers } from './scenario.ts';

/**
 * Just above 64 tokens, the unit in which prompts are compared here: what is over is computed anew.
 */
export const PROMPT: string =
  'A name of nine letters, and a wish to see each planet of the sun once. '.repeat(4);
export const OTHER: string =
  'Why does the sky turn red in the evening, and why is it blue at noon? '.repeat(4);

export interface Connector {
  readonly name: string;
  /** Flags of the sidecar; the prefilling server's own port is where engines meet. */
  readonly flags: (prefillPort: string) => readonly string[];
  /** Options of our stub. */
  readonly stub?: Readonly<Record<string, unknown>>;
  readonly connector?: string;
}

export const CONNECTORS: readonly Connector[] = [
  { name: 'nixlv2', flags: () => [] },
  { name: 'mooncake', flags: (port) => [`--mooncake-bootstrap-port=${port}`] },
  { name: 'sglang', flags: () => [] },
  { name: 'offloading', flags: (port) => [`--p2p-connector-port=${port}`] },
  { name: 'shared-storage', flags: () => [], stub: { sharedStorage: true } },
  {
    name: 'MoRI-IO',
    connector: 'nixlv2',
    flags: () => ['--moriio-write-mode', '--moriio-local-pod-ip=127.0.0.1'],
  },
];

/** A prefilling server, and engines behind sidecars. */
export async function deploy(
  { name, connector = name, flags, stub = {} }: Connector,
  decoders: number,
): Promise<{ scenario: Scenario; prefiller: Server; engines: readonly Server[] }> {
  const scenario = new Scenario();
  const roles = ['prefill', ...Array.from({ length: decoders }, () => 'decode')];
  const [prefiller, ...engines] = await scenario.startServers(roles, stub);
  if (prefiller === undefined) throw new Error('no prefiller');
  const port = prefiller.address.split(':')[1] ?? '';
  const all = [`--kv-connector=${connector}`, ...flags(port)];
  const sidecars = await scenario.withSidecars(engines, all);
  await scenario.start(prefillDecode, [prefiller, ...sidecars]);
  return { scenario, prefiller, engines };
}

/** What llm-d asserts of each connector. */
export function describeConnector(connector: Connector): void {
  describe.skipIf(binary === undefined)(`prefill and decode apart, with ${connector.name}`, () => {
    let scenario: Scenario;
    let prefiller: Server;
    let engines: readonly Server[];
    beforeAll(async () => {
      ({ scenario, prefiller, engines } = await deploy(connector, 2));
    });
    afterAll(() => scenario?.stop());

    it('decodes at one engine what the prefilling server has computed, whole', async () => {
      const before = await servedBy(prefiller);
      const first = await servers(engines, () => scenario.complete(PROMPT));
      expect(first).toHaveLength(1);
      expect(await servers(engines, () => scenario.chat(PROMPT))).toHaveLength(1);
      expect(await servedBy(prefiller)).toBe(before + 2);
      // The same prompt goes to the same engine, which has it cached.
      await servers(engines, () => scenario.complete(OTHER));
      expect(await servers(engines, () => scenario.complete(PROMPT))).toEqual(first);
    });

    it('does so for a stream, which is whole', async () => {
      const before = await servedBy(prefiller);
      for (const ask of [
        () => scenario.complete(`streamed: ${OTHER}`, { stream: true }),
        () => scenario.chat(`streamed: ${OTHER}`, { stream: true }),
      ]) {
        const response = await ask();
        expect(response.headers.get('content-type')).toContain('text/event-stream');
        expect((await response.text()).trimEnd().endsWith('data: [DONE]')).toBe(true);
      }
      expect(await servedBy(prefiller)).toBe(before + 2);
    });
  });
}
