import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { eventually, serveOptions } from '../../../bench/support/stack.ts';
import { startServe } from '../serve.ts';
import { whyNoneListed } from './endpoint-discovery.ts';

const name = (of: string, error?: string) => ({ name: of, addresses: [], error, since: 0 });

it('[O414] names a host name that is not resolved and why, where no endpoint is left', () => {
  const wrong = name('vllm.invalid', 'getaddrinfo ENOTFOUND vllm.invalid');
  expect(whyNoneListed([wrong], undefined)).toBe(
    'the host name vllm.invalid is not resolved (getaddrinfo ENOTFOUND vllm.invalid)',
  );
  expect(whyNoneListed([wrong, name('other.invalid')], undefined)).toBe(
    'none of 2 host names of model servers is resolved, such as vllm.invalid (getaddrinfo ENOTFOUND vllm.invalid)',
  );
  expect(whyNoneListed([name('vllm.invalid')], undefined)).toBe(
    'the host name vllm.invalid is not resolved',
  );
  expect(whyNoneListed([], undefined)).toContain('no --endpoints');
});

it('[V558] a metric says while the endpoints file is refused, and there is none without the file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-discovery-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const endpointsFile = join(folder, 'endpoints.yaml');
  const good = 'endpoints: [{ name: a, address: 127.0.0.1, port: 9 }]\n';
  writeFileSync(endpointsFile, good);
  const successIn = async (endpoints: Parameters<typeof serveOptions>[0]) => {
    const serving = await startServe(serveOptions(endpoints));
    onTestFinished(() => serving.stop({ notice: false }));
    return async (): Promise<string | undefined> => {
      const page = await fetch(`http://127.0.0.1:${serving.metricsPort}/metrics`);
      const text = await page.text();
      return /^pointsman_endpoints_file_last_reload_successful (\d)$/m.exec(text)?.[1];
    };
  };
  const success = await successIn({ endpointsFile });
  expect(await success()).toBe('1');
  writeFileSync(endpointsFile, 'endpoints: [');
  await eventually(success, (value) => value === '0');
  writeFileSync(endpointsFile, good);
  await eventually(success, (value) => value === '1');
  const withoutFile = await successIn({ endpoints: ['127.0.0.1:9'] });
  expect(await withoutFile()).toBeUndefined();
});
