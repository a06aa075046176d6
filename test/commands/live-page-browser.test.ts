import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumOrSkip } from '../../bench/support/chromium.ts';
import { eventually } from '../../bench/support/stack.ts';
import { LiveStack } from '../support/programs/live-stack.ts';
import { pageFaults } from '../support/programs/page-faults.ts';
import { startCuttableProxy } from '../support/servers/cuttable-proxy.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..');
/** POINTSMAN_SCREENSHOTS names a folder where pictures of the page are left. */
const pictures = process.env['POINTSMAN_SCREENSHOTS'];
const launch = await chromiumOrSkip('the live page in a real browser');
const TOKEN = 'a-token-of-administrators';

/** What is asked of an element in the page. */
interface Measured {
  readonly clientHeight: number;
  readonly clientWidth: number;
  readonly scrollWidth: number;
}

it('[O5] the files of the page are free of type errors', async () => {
  // Threads would each look at the same declarations: twice the CPU.
  const args = ['-p', join(root, 'ui'), '--noEmit', '--singleThreaded'];
  await run(join(root, 'node_modules', '.bin', 'tsc'), args);
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
      expect(await pageFaults(page)).toEqual([]);
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

  it('[O377] keeps figures of the pool within their columns beside the decisions', async () => {
    const { page, close } = await open({ viewport: { width: 1280, height: 900 } });
    await live(page);
    const beyond = `[...document.querySelectorAll('.pool td .number')].map((figure) =>
      figure.getBoundingClientRect().right - figure.closest('td').getBoundingClientRect().right)`;
    const pixels = (await page.evaluate(beyond)) as readonly number[];
    expect(pixels.length).toBeGreaterThan(4);
    expect(Math.max(...pixels)).toBeLessThan(-4);
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

  it('[O4] [O393] goes on by itself after the picker has started anew', async () => {
    const { page, close } = await open();
    await live(page);
    await stack.stopPicker();
    await page.locator('.connection.lost').waitFor();
    await page
      .getByText(`The picker at ${stack.admin} does not answer. What is shown is from before.`)
      .waitFor();
    await stack.startPicker();
    await live(page);
    await stack.send(2);
    // The new picker counts from 0.
    await eventually(
      () => numberOf(page),
      (number) => number < 2,
    );
    // What it has from before is marked.
    await page.getByText('Before the picker started anew:').waitFor();
    await page
      .getByRole('slider', { name: /the picker started at \d\d:\d\d:\d\d/ })
      .first()
      .waitFor();
    await close();
  });

  it('[V479] connects again where nothing comes any more, and says so', async () => {
    const proxy = await startCuttableProxy(Number(stack.admin.split(':').at(-1)));
    const page = await browser.newPage({ locale: 'en-GB' });
    await page.clock.install();
    await page.goto(`http://127.0.0.1:${proxy.port}/ui`);
    await live(page);
    proxy.silence();
    for (let seconds = 0; seconds < 15; seconds += 3) await page.clock.runFor(3000);
    await page.locator('.connection.lost').waitFor();
    await page.getByText('the picker has sent nothing for 15 s').waitFor();
    // Chromium asks again on each of up to six connections that it has kept, all of them dead.
    const isLive = async (): Promise<boolean> => {
      await page.clock.runFor(5000);
      return live(page).then(
        () => true,
        () => false,
      );
    };
    page.setDefaultTimeout(2000);
    let tries = 0;
    while (tries < 12 && !(await isLive())) tries += 1;
    expect(tries).toBeLessThan(12);
    await page.close();
    await proxy.stop();
  });

  it('[O6] asks for the token where the picker demands one', async () => {
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
    // The form has no use for how other clients give it.
    expect(await page.getByText('Bearer').count()).toBe(0);
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
