import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { startInCharge } from './reference.ts';

const folder = mkdtempSync(join(tmpdir(), 'pointsman-reference-test-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A program in the place of the reference picker, with its arguments in `args`. */
function program(body: string): string {
  const path = join(folder, 'epp');
  const script = `#!${process.execPath}
const args = Object.fromEntries(process.argv.slice(2).map((arg) => arg.slice(2).split('=')));
${body}
`;
  writeFileSync(path, script);
  chmodSync(path, 0o755);
  return path;
}

const PAGES = `
let scrapes = 0;
require('node:http').createServer((_, response) => {
  scrapes += 1;
  response.end('inference_pool_ready_pods{name="agreement"} ' + Math.min(scrapes, 2));
}).listen(Number(args['metrics-port']), '127.0.0.1');
`;

it('[D571] a program of the reference is in charge once it has all model servers', async () => {
  const path = program(PAGES);
  const reference = { name: 'the reference', path };
  const endpoints = ['127.0.0.1:9001', '127.0.0.1:9002'];
  const inCharge = await startInCharge({ reference, standIn: '' }, endpoints);
  expect(inCharge.name).toBe('the reference');
  expect(inCharge.extProcPort).toBeGreaterThan(0);
  await inCharge.stop();
});

it('[D571] a program of the reference that ends is an error with the end of its log', async () => {
  const path = program(`
    console.error('unknown flag: --config-file=' + args['config-file'].split('/').pop());
    process.exitCode = 3;
  `);
  const started = startInCharge({ reference: { name: 'epp', path }, standIn: '' }, ['127.0.0.1:1']);
  await expect(started).rejects.toThrow(
    /does not have 1 model servers: unknown flag: --config-file=config\.yaml/,
  );
});

it('[D571] a program of the reference that is not there is an error', async () => {
  const path = join(folder, 'no-such-epp');
  const started = startInCharge({ reference: { name: 'epp', path }, standIn: '' }, ['127.0.0.1:1']);
  await expect(started).rejects.toThrow(/no-such-epp ENOENT/);
});
