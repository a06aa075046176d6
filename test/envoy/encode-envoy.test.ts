import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { envoyBinary, type Stack, startStack } from '../../bench/support/stack.ts';
import { type Sidecar, startSidecar } from '../../src/sidecar/start-sidecar.ts';
import { codeBlock } from '../docs/doc-code.ts';
import { startUpstream, type Upstream } from '../support/servers/upstream.ts';
import { sidecarOptions } from '../support/sidecar/sidecar-options.ts';

/**
 * The configuration in docs/disaggregation.md, a real Envoy, the sidecar, and servers that record
 * their requests.
 */

const binary = await envoyBinary();
const IMAGE = { type: 'image_url', image_url: { url: 'data:image/png;base64,QUJD' } };

describe.skipIf(binary === undefined)('separate encoders, through a real Envoy', () => {
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-encode-'));
  const servers: Upstream[] = [];
  let sidecar: Sidecar;
  let stack: Stack;

  beforeAll(async () => {
    for (let index = 0; index < 3; index++) servers.push(await startUpstream());
    const [decoder, ...encoders] = servers.map(({ address }) => address);
    const log = (): void => undefined;
    sidecar = await startSidecar(sidecarOptions({ engine: decoder ?? '', log }));
    const endpointsFile = join(folder, 'endpoints.yaml');
    const entry = (address: string, role: string): string =>
      `- {name: ${role}-${address.split(':')[1] ?? ''}, address: 127.0.0.1, port: ${address.split(':')[1] ?? ''}, labels: {llm-d.ai/role: ${role}}}\n`;
    const entries = [
      entry(sidecar.address, 'decode'),
      ...encoders.map((at) => entry(at, 'encode')),
    ];
    writeFileSync(endpointsFile, `endpoints:\n${entries.join('')}`);
    const config = join(folder, 'config.yaml');
    writeFileSync(config, codeBlock('docs/disaggregation.md', 'yaml', 'encode-filter'));
    const serve = { endpointsFile };
    stack = await startStack(binary ?? '', { envoy: 'envoy', endpoints: [], config, serve });
  });
  afterAll(async () => {
    await stack?.stop();
    await sidecar?.stop();
    for (const server of servers) await server.stop();
    rmSync(folder, { recursive: true });
  });

  async function chat(content: readonly object[]): Promise<number> {
    const response = await fetch(`${stack.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content }] }),
    });
    await response.text();
    return response.status;
  }
  const counts = (): readonly number[] => servers.map(({ received }) => received.length);

  it('sends each item to one encoder, and text to none', async () => {
    expect(await chat([{ type: 'text', text: 'What is this?' }])).toBe(200);
    expect(counts()).toEqual([1, 0, 0]);
    const other = { ...IMAGE, image_url: { url: 'data:image/png;base64,REVG' } };
    expect(await chat([IMAGE, other])).toBe(200);
    expect(counts()).toEqual([2, 1, 1]);
    expect(sidecar.counts).toEqual({ prefilled: 0, encoded: 1, fellBack: 0 });
    expect(await stack.inFlight()).toBe(0);
  });
});
