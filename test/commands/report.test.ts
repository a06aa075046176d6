import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumOrSkip } from '../../bench/support/chromium.ts';
import { factBox, figure, htmlPage, htmlTable, legend } from '../../src/lab/report/page.ts';
import { PROGRAM } from '../support/programs/program.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..');
const folder = mkdtempSync(join(tmpdir(), 'pointsman-report-'));
const page = join(folder, 'report.html');
const trace = join(root, 'bench/traces/mooncake-conversation-5min.jsonl');

const browserLaunch = await chromiumOrSkip('the report in a real browser');

beforeAll(async () => {
  const pool = join(folder, 'pool.yaml');
  writeFileSync(pool, 'servers:\n  - { count: 4 }\n');
  await run(process.execPath, [
    PROGRAM,
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
  it('is one page that loads nothing else, with a chart for each figure and server map, and a key for each configuration', () => {
    const html = readFileSync(page, 'utf8');
    expect(html.match(/<svg /g)).toHaveLength(7 + 2 + 2);
    const references = html.replace(/http:\/\/www\.w3\.org\/[\w/]+/g, '');
    expect(references).not.toMatch(/https?:|<script|<link|src=/);
    expect(html).not.toContain('±');
  });

  it('[O40] begins with the verdict and a caution, as it has two draws', () => {
    const paragraphs = readFileSync(page, 'utf8').matchAll(/<p class="(\w+)">([^\n]*)<\/p>/g);
    const [first, second] = Array.from(paragraphs, ([, kind, text]) => `${kind}: ${text}`);
    expect(first).toMatch(
      /^verdict: In these 2 draws default gives the first token soonest, after /,
    );
    expect(second).toMatch(/^caution: .*only 2 draws/);
  });

  it('[G277] has a comparison only where there are several', async () => {
    const one = join(folder, 'one.html');
    const pool = join(folder, 'pool.yaml');
    const flags = [`--trace=${trace}`, `--pool=${pool}`, '--config=default', `--report=${one}`];
    await run(process.execPath, [PROGRAM, 'simulate', ...flags, '--requests=20']);
    const said = [page, one].map((path) => readFileSync(path, 'utf8').includes('second column'));
    expect(said).toEqual([true, false]);
  });

  it('[O41] names trace, load, pool, configurations, draws, version and date', () => {
    const facts = [...readFileSync(page, 'utf8').matchAll(/<dt>(.*?)<\/dt><dd>(.*?)<\/dd>/g)];
    const values = Object.fromEntries(facts.map(([, name, value]) => [name, value]));
    expect(values).toMatchObject({
      Trace: 'mooncake-conversation-5min.jsonl',
      Load: expect.stringMatching(/^918 requests, \d\.\d\d requests\/s$/),
      Pool: 'pool.yaml: 4 × llama-3.1-8b-h100, simulated',
      Configurations: 'round-robin, default',
      Draws: '2, arrivals moved by up to 10.0 s',
      'Made with': expect.stringMatching(/^Pointsman \d+\.\d+\.\d+$/),
      Date: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d UTC$/),
    });
  });

  it.each(['pool.yaml', 'mine.yaml'])('[O44] does not replace the input %s', async (name) => {
    const [pool, mine] = [join(folder, 'pool.yaml'), join(folder, 'mine.yaml')];
    writeFileSync(mine, 'plugins: []\n');
    const to = join(folder, name);
    const before = readFileSync(to, 'utf8');
    const flags = [`--trace=${trace}`, `--pool=${pool}`, `--config=${mine}`, `--report=${to}`];
    const outcome = run(process.execPath, [PROGRAM, 'simulate', ...flags]);
    await expect(outcome).rejects.toThrow(/is the input .*, which writing would destroy/);
    expect(readFileSync(to, 'utf8')).toBe(before);
  });

  it.skipIf(browserLaunch === undefined).each([
    ['across', 1032],
    ['upright', 703],
  ])('[O207] [O486] is light and whole on paper of A4, %s', async (_direction, width) => {
    const browser = await chromium.launch(browserLaunch);
    try {
      const viewport = { width, height: 900 };
      const tab = await (await browser.newContext({ colorScheme: 'dark', viewport })).newPage();
      await tab.emulateMedia({ media: 'print', colorScheme: 'dark' });
      await tab.goto(`file://${page}`);
      const seen = await tab.evaluate(`({
        paper: getComputedStyle(document.body).backgroundColor,
        cut: [...document.querySelectorAll('table, figure, dl')]
          .filter((each) => each.getBoundingClientRect().right > innerWidth + 1).length,
        captionsLargerThanText: [...document.querySelectorAll('figcaption span, dt')]
          .map((each) => parseFloat(getComputedStyle(each).fontSize))
          .filter((px) => px > parseFloat(getComputedStyle(document.body).fontSize)).length,
      })`);
      expect(seen).toEqual({ paper: 'rgb(255, 255, 255)', cut: 0, captionsLargerThanText: 0 });
    } finally {
      await browser.close();
    }
  });

  it.skipIf(browserLaunch === undefined).each([1280, 390])(
    '[O531] fits, %i pixels wide, also where names have no place to break',
    async (width) => {
      const names = Array.from(
        { length: 10 },
        (_, at) => `policy_${at}_${'with_a_long_name_'.repeat(4)}`,
      );
      const [first = ''] = names;
      const cells = Array.from({ length: 9 }, () => '12,345 ±678');
      const worded = names.map((name) => [name, 'no clear difference (−1.6 to 2.7 %)', ...cells]);
      const head = [
        'configuration',
        `first token, against ${first}`,
        ...cells.map(() => 'good answers'),
      ];
      const drawn = names.map((name) => ({ name }));
      const body = `<p class="verdict">${first} is the soonest</p>${factBox([['Pool', first]])}
        <div class="scroll worded">${htmlTable([head, ...worded])}</div>${legend(drawn)}
        <section>${figure(first, first, '<svg viewBox="0 0 9 9"></svg>')}</section>`;
      writeFileSync(join(folder, 'names.html'), htmlPage(first, body));
      const browser = await chromium.launch(browserLaunch);
      try {
        const tab = await browser.newPage({ viewport: { width, height: 900 } });
        await tab.goto(`file://${join(folder, 'names.html')}`);
        const seen = await tab.evaluate(`({
          overflow: document.documentElement.scrollWidth - innerWidth,
          second: document.querySelectorAll('thead th')[1].getBoundingClientRect().width,
        })`);
        expect(seen).toMatchObject({ overflow: 0 });
        expect((seen as { second: number }).second).toBeLessThan(200);
      } finally {
        await browser.close();
      }
    },
  );

  describe.skipIf(browserLaunch === undefined).each([
    ['light', 1280],
    ['dark', 1280],
    ['light', 390],
    ['dark', 390],
  ] as const)('in Chromium, %s, %i pixels wide', (colorScheme, width) => {
    it('[O43] fits, logs nothing on the console, and is readable', async () => {
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
          // Texts of a chart that cover each other or leave the chart.
          const covered = [...document.querySelectorAll('figure svg')].flatMap((svg) => {
            const frame = svg.getBoundingClientRect();
            const texts = [...svg.querySelectorAll('text')].filter((text) => text.textContent.trim() !== '');
            const boxes = texts.map((text) => text.getBoundingClientRect());
            return texts.flatMap((text, at) => boxes
              .filter((box, other) => other > at && box.left < boxes[at].right - 1 && boxes[at].left < box.right - 1
                && box.top < boxes[at].bottom - 1 && boxes[at].top < box.bottom - 1)
              .map(() => text.textContent)
              .concat(boxes[at].left < frame.left - 1 || boxes[at].right > frame.right + 1 ? [text.textContent] : []));
          });
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
            chart: document.querySelector('figure svg').getBoundingClientRect().width,
            covered: covered.join(),
          };
        })()`);
        const { overflow, contrast, line, chart, letters, covered } = seen as Record<
          string,
          number | string
        >;
        expect(covered).toBe('');
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
