import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumOrSkip } from './support/chromium.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..');
const folder = mkdtempSync(join(tmpdir(), 'pointsman-report-'));
const page = join(folder, 'report.html');

const browserLaunch = await chromiumOrSkip('the report in a real browser');

beforeAll(async () => {
  const pool = join(folder, 'pool.yaml');
  writeFileSync(pool, 'servers:\n  - { count: 4 }\n');
  const trace = join(root, 'bench/traces/mooncake-conversation-5min.jsonl');
  await run(process.execPath, [
    join(root, 'src/main.ts'),
    'simulate',
    `--trace=${trace}`,
    `--pool=${pool}`,
    '--config=round-robin',
    '--config=default',
    '--seeds=2',
    `--report=${page}`,
  ]);
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('the report', () => {
  it('is one page that loads nothing else, with a picture for each figure and server map', () => {
    const html = readFileSync(page, 'utf8');
    expect(html.match(/<svg /g)).toHaveLength(7 + 2);
    const references = html.replace(/http:\/\/www\.w3\.org\/[\w/]+/g, '');
    expect(references).not.toMatch(/https?:|<script|<link|src=/);
    expect(html).toContain('±');
  });

  describe.skipIf(browserLaunch === undefined).each([
    ['light', 1280],
    ['dark', 1280],
    ['light', 390],
    ['dark', 390],
  ] as const)('in Chromium, %s, %i pixels wide', (colorScheme, width) => {
    it('fits, logs nothing on the console, and is readable', async () => {
      const browser = await chromium.launch(browserLaunch);
      try {
        const context = await browser.newContext({ colorScheme, viewport: { width, height: 900 } });
        const tab = await context.newPage();
        const said: string[] = [];
        tab.on('console', (message) => void said.push(message.text()));
        tab.on('pageerror', (error) => void said.push(error.message));
        tab.on('request', (request) => void said.push(request.url()));
        await tab.goto(`file://${page}`);
        expect(said).toEqual([`file://${page}`]);
        const seen = await tab.evaluate(`(() => {
          const light = (colour) => {
            const [r, g, b] = colour.match(/[\\d.]+/g).map(Number);
            return (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255;
          };
          const style = getComputedStyle(document.body);
          const line = document.querySelector('svg path[stroke="var(--c0)"]');
          return {
            overflow: document.documentElement.scrollWidth - innerWidth,
            contrast: Math.abs(light(style.color) - light(style.backgroundColor)),
            line: line === null ? '' : getComputedStyle(line).stroke,
            // The smallest text of each chart, as it is on the screen.
            letters: Math.min(...[...document.querySelectorAll('svg text')].map((text) => {
              const svg = text.ownerSVGElement;
              const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
              return scale * parseFloat(getComputedStyle(text).fontSize);
            })),
            chart: document.querySelector('svg').getBoundingClientRect().width,
          };
        })()`);
        const { overflow, contrast, line, chart, letters } = seen as Record<
          string,
          number | string
        >;
        expect(overflow).toBeLessThanOrEqual(0);
        expect(contrast).toBeGreaterThan(0.7);
        expect(letters).toBeGreaterThan(10.5);
        expect(line).toMatch(/^rgb/);
        expect(chart).toBeGreaterThan(300);
        expect(chart).toBeLessThanOrEqual(width);
      } finally {
        await browser.close();
      }
    });
  });
});
