import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumOrSkip } from '../../bench/support/chromium.ts';
import { eventually } from '../../bench/support/stack.ts';
import type { LiveMessage } from '../../src/serve/live/live-message.ts';
import { LiveStack } from '../support/programs/live-stack.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..');
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** POINTSMAN_SCREENSHOTS names a folder where pictures of the page are left. */
const pictures = process.env['POINTSMAN_SCREENSHOTS'];
const launch = await chromiumOrSkip('the live page in a real browser');
const TOKEN = 'a-token-of-administrators';

/** Documents of pickers that have these parts, and what the page shows of each. The last is left out. */
const PARTS: Readonly<Record<string, { readonly document: unknown; readonly shows: string }>> = {
  '/debug/waiting': {
    document: {
      requests: 3,
      bytes: 91_520,
      oldestMs: 1250,
      groups: [{ priority: 5, fairnessId: 'team-b', requests: 3, bytes: 91_520, oldestMs: 1250 }],
      endpoints: [{ endpoint: 'pod-c', requests: 2, prefillTokens: 41_000 }],
    },
    shows: 'team-b',
  },
  '/debug/headroom': {
    document: {
      active: true,
      stages: [
        {
          stage: 'all',
          endpoints: 4,
          replicas: 4,
          requestsPerSecond: { used: 5, capacity: 12, left: 7 },
          utilization: 0.42,
          saturation: 0.3,
          secondsToSaturation: 540,
          desiredReplicas: 6,
          limit: 'first-token',
        },
      ],
    },
    shows: '6 (now 4)',
  },
  '/debug/replicas': {
    document: {
      id: 'picker-a',
      connected: false,
      sinceMs: 65_000,
      open: 1,
      peers: [{ id: 'picker-b', open: 9, lagMs: 3, silentMs: 40 }],
    },
    shows: 'picker-b',
  },
  '/debug/shadows': {
    document: { shadows: [{ name: 'mine.yaml', running: false, restarts: 2, dropped: 0 }] },
    shows: 'mine.yaml (down)',
  },
  // Not asked for unless the picker names it.
  '/debug/promotion': {
    document: {
      percent: 0,
      automatic: false,
      hasRule: true,
      conditions: [],
      events: [
        {
          wallMs: 1_795_464_382_685,
          what: 'demoted',
          shadow: 'mine.yaml',
          percent: 0,
          by: 'rule',
          why: '122 of its latest 7328 requests failed',
        },
      ],
    },
    shows: '',
  },
};

/** What is asked of an element in the page. */
interface Measured {
  readonly clientHeight: number;
  readonly clientWidth: number;
  readonly scrollWidth: number;
}

/** The first message that the picker gives a viewer. */
async function nextMessage(admin: string): Promise<LiveMessage> {
  const abort = new AbortController();
  const { body } = await fetch(`http://${admin}/debug/live`, { signal: abort.signal });
  let text = '';
  for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    const event = /^data: (.*)\n\n/m.exec(text)?.[1];
    if (event !== undefined) {
      abort.abort();
      return JSON.parse(event) as LiveMessage;
    }
  }
  throw new Error('the picker has ended the stream');
}

it('[O5] the files of the page are free of type errors', async () => {
  await run(join(root, 'node_modules', '.bin', 'tsc'), ['-p', join(root, 'ui'), '--noEmit']);
});

describe.skipIf(launch === undefined)('the live page', () => {
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-live-page-'));
  const adminTokenFile = join(folder, 'token');
  let stack: LiveStack;
  let browser: Browser;

  beforeAll(async () => {
    writeFileSync(adminTokenFile, TOKEN);
    stack = await LiveStack.start({ adminTokenFile });
    await stack.send(5);
    browser = await chromium.launch(launch);
  });
  afterAll(async () => {
    await browser?.close();
    await stack?.stop();
    rmSync(folder, { recursive: true });
  });

  /** The page, and what was said on the console or asked of other places. */
  async function open(options: BrowserContextOptions = {}) {
    const context = await browser.newContext({ locale: 'en-GB', ...options });
    const page = await context.newPage();
    const said: string[] = [];
    const own = `http://${stack.admin}/`;
    page.on('console', (message) => void said.push(message.text()));
    page.on('pageerror', (error) => void said.push(error.message));
    page.on('request', (request) => {
      const url = request.url();
      if (!url.startsWith(own) && !url.startsWith('data:')) said.push(url);
    });
    await page.goto(`${own}ui`);
    return { page, said, close: () => context.close() };
  }

  const live = (page: Page) => page.locator('.connection.live').waitFor();
  const numberOf = async (page: Page): Promise<number> => {
    const [, number = ''] =
      /decision ([\d,]+)/.exec(await page.locator('.explained').innerText()) ?? [];
    return Number(number.replace(',', ''));
  };

  it('[O1] [O2] shows pool, times and decisions, and why an endpoint is not scraped', async () => {
    const { page, close } = await open();
    await live(page);
    await page.getByText('not scraped: ').waitFor();
    const trouble = await page.locator('.pool tbody tr').nth(1).innerText();
    expect(trouble).toContain('http://127.0.0.1:9/metrics');
    expect(await page.locator('.pool tbody tr th').count()).toBe(4);
    await stack.send(4);
    await page.locator('.tile', { hasText: 'First token' }).getByText('predicted').waitFor();
    const before = await numberOf(page);
    await stack.send(3);
    // It follows by itself.
    await eventually(
      () => numberOf(page),
      (number) => number > before,
    );
    await page.getByRole('button', { name: 'Labels' }).click();
    await page.getByRole('searchbox').fill('not scraped');
    await page.getByText('1 of 4').waitFor();
    await close();
  });

  it('[O3] explains a decision on a click and by keys, with a bar for each term', async () => {
    const { page, close } = await open();
    await live(page);
    await stack.send(6);
    const entries = page.locator('.list button');
    await entries.nth(5).waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await entries.nth(2).click();
    // Until then the page shows the decision that it followed before, with its number and bars.
    await page.locator('.list li:nth-child(3) button[aria-pressed=true]').waitFor();
    // The explanation comes from the picker.
    await page.locator('.explained .bars .bar').first().waitFor();
    const text = await page.locator('.explained').innerText();
    expect(text).toMatch(/costs [\d.]+ ms; .* would have cost ([\d.]+ m?s more|the same)/);
    for (const term of ['cached tokens', 'own prefill', 'steps', 'cost'])
      expect(text).toContain(term);
    expect(await page.locator('.bars .bar').count()).toBeGreaterThan(6);
    const number = await numberOf(page);
    await page.keyboard.press('ArrowDown');
    await eventually(
      () => numberOf(page),
      (now) => now === number - 1,
    );
    expect(await entries.nth(3).getAttribute('aria-pressed')).toBe('true');
    await page.keyboard.press('ArrowUp');
    await eventually(
      () => numberOf(page),
      (now) => now === number,
    );
    await page.keyboard.press('/');
    expect(await page.evaluate('document.activeElement.id')).toBe('filter');
    await close();
  });

  it.each([
    ['light', 1440],
    ['dark', 1440],
    ['light', 390],
    ['dark', 390],
  ] as const)(
    '[O5] is readable for all and silent: %s, %i pixels wide',
    async (colorScheme, width) => {
      const { page, said, close } = await open({ colorScheme, viewport: { width, height: 900 } });
      await live(page);
      await stack.send(2);
      await page.locator('.list button').nth(1).waitFor();
      await page.evaluate(axe);
      const { violations } = await page.evaluate<{ violations: unknown[] }>('axe.run()');
      expect(violations).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
      expect(said).toEqual([]);
      if (pictures !== undefined) {
        await page.screenshot({
          path: join(pictures, `${colorScheme}-${width}.png`),
          fullPage: true,
        });
      }
      await close();
    },
  );

  it('[O11] shows what waits, headroom, replicas and shadows where the picker answers their documents', async () => {
    const context = await browser.newContext({ locale: 'en-GB', colorScheme: 'dark' });
    const page = await context.newPage();
    const first = await fetch(`http://${stack.admin}/debug/live`);
    const reader = first.body?.pipeThrough(new TextDecoderStream()).getReader();
    const { value = '' } = (await reader?.read()) ?? {};
    await reader?.cancel();
    const paths = Object.keys(PARTS);
    const documents = JSON.stringify(paths.slice(0, -1));
    const body = value.replace(/"documents":\[[^\]]*\]/, `"documents":${documents}`);
    await page.route('**/debug/live', (route) =>
      route.fulfill({ contentType: 'text/event-stream', body }),
    );
    for (const [path, { document }] of Object.entries(PARTS)) {
      await page.route(`**${path}`, (route) => route.fulfill({ json: document }));
    }
    await page.goto(`http://${stack.admin}/ui`);
    for (const path of paths.slice(0, -1)) {
      await page.getByText(PARTS[path]?.shows ?? '?', { exact: true }).waitFor();
    }
    expect(await page.getByText('Promotion', { exact: true }).count()).toBe(0);
    // [O246] What happened, and why.
    await page.route('**/debug/live', (route) =>
      route.fulfill({
        contentType: 'text/event-stream',
        body: value.replace(/"documents":\[[^\]]*\]/, `"documents":${JSON.stringify(paths)}`),
      }),
    );
    await page.reload();
    await page.getByText('The rule has ended, until the picker starts again.').waitFor();
    await page.getByText('mine.yaml demoted').waitFor();
    await page.getByText('by rule: 122 of its latest 7328 requests failed').waitFor();
    await page.evaluate(axe);
    const { violations } = await page.evaluate<{ violations: unknown[] }>('axe.run()');
    expect(violations).toEqual([]);
    await context.close();
  });

  it('[O189] counts decisions by the time between messages, and explains in words', async () => {
    await stack.send(3);
    const first = await nextMessage(stack.admin);
    const { picker: _picker, ...later } = first;
    const events = [
      first,
      { ...later, wallMs: first.wallMs + 4000, decisions: { ...later.decisions, made: 100 } },
    ];
    const body = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
    const context = await browser.newContext({ locale: 'en-GB' });
    const page = await context.newPage();
    let asked = 0;
    await page.route('**/debug/live', (route) =>
      asked++ === 0
        ? route.fulfill({ contentType: 'text/event-stream', body })
        : route.fulfill({ status: 500, json: { error: 'it has gone' } }),
    );
    await page.goto(`http://${stack.admin}/ui`);
    await page.locator('.tile', { hasText: 'Decisions' }).getByText('25/s').waitFor();
    const reasons = await page.locator('.explained .reasons').innerText();
    expect(reasons).toMatch(/^(It holds|Both hold) ([\d,]+|none) of (the|its) prompt tokens/);
    expect(await page.locator('.explained h3').innerText()).not.toContain('default/');
    // What each term of the scorer is.
    const meanings = await page.locator('.bars .meaning').allInnerTexts();
    expect(meanings.length).toBeGreaterThan(3);
    expect(meanings).not.toContain('');
    await context.close();
  });

  it('[O259] says that there is no model server, and is readable where a decision had no other choice', async () => {
    await stack.send(1);
    const first = await nextMessage(stack.admin);
    const [decision] = first.decisions.shown;
    const name = `${'a-long-name-of-a-deployment-'.repeat(7)}x2k9p`;
    const text = JSON.stringify({
      ...first,
      totals: { ...first.totals, endpoints: 0 },
      pool: { ...first.pool, rows: [] },
      decisions: { made: 1, shown: [decision] },
    })
      .replace(/,?"runnerUp":\{.*?\}\]\}/g, '')
      .replaceAll(decision?.outcome.kind === 'picked' ? decision.outcome.endpoint : '?', name);
    const context = await browser.newContext({ locale: 'en-GB' });
    const page = await context.newPage();
    await page.route('**/debug/live', (route) =>
      route.fulfill({ contentType: 'text/event-stream', body: `data: ${text}\n\n` }),
    );
    await page.goto(`http://${stack.admin}/ui`);
    await page.getByText('no model server', { exact: true }).waitFor();
    await page.getByText('The picker knows no model server').waitFor();
    const headline = await page.locator('.explained h3').innerText();
    expect(headline).toMatch(/^….{40,63}x2k9p: there was no other$/);
    await page.evaluate(axe);
    const { violations } = await page.evaluate<{ violations: unknown[] }>('axe.run()');
    expect(violations).toEqual([]);
    await context.close();
  });

  it('[O190] has no cut names and no broken figures on a phone', async () => {
    const { page, close } = await open({ viewport: { width: 390, height: 844 } });
    await live(page);
    const heights = await page
      .locator('.pool td.number:visible, .pool th.id')
      .evaluateAll((cells: Measured[]) =>
        cells.map(({ clientHeight, clientWidth, scrollWidth }) => ({
          lines: clientHeight / 20,
          cut: scrollWidth - clientWidth,
        })),
      );
    expect(heights.length).toBeGreaterThan(8);
    for (const { lines, cut } of heights) {
      expect(lines).toBeLessThan(2);
      expect(cut).toBeLessThanOrEqual(0);
    }
    await close();
  });

  it('[O163] starts in a browser whose language is none, and says why where it cannot start', async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.addInitScript(
      "Object.defineProperty(Navigator.prototype, 'language', { value: 'en-US@posix' })",
    );
    await page.goto(`http://${stack.admin}/ui`);
    await live(page);
    await page.route('**/app.js', (route) => route.abort());
    await page.reload();
    await page.getByText('The page cannot start in this browser').waitFor();
    await context.close();
  });

  it('[O4] goes on by itself after the picker has started anew', async () => {
    const { page, close } = await open();
    await live(page);
    await stack.stopPicker();
    await page.locator('.connection.lost').waitFor();
    await page.getByText('What is shown is from before.').waitFor();
    await stack.startPicker();
    await live(page);
    await stack.send(2);
    // The new picker counts from 0.
    await eventually(
      () => numberOf(page),
      (number) => number < 2,
    );
    await close();
  });

  it('[O6] asks for the token where the picker wants one', async () => {
    await stack.stopPicker();
    // A proxy before the picker makes every request one of another machine.
    const context = await browser.newContext({
      locale: 'en-GB',
      extraHTTPHeaders: { via: 'proxy' },
    });
    const remote = await LiveStack.start({ adminTokenFile, adminRemote: true });
    const page = await context.newPage();
    await page.goto(`http://${remote.admin}/ui`);
    await page.getByText('this needs the token').waitFor();
    await page.getByLabel('this needs the token').fill('a-wrong-token-of-someone');
    await page.getByRole('button').click();
    await page.getByText('this is not the one').waitFor();
    await page.locator('#token').fill(TOKEN);
    await page.getByRole('button').click();
    await live(page);
    await context.close();
    await remote.stop();
    await stack.startPicker();
  });
});
