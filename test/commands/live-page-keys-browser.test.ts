import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumOrSkip } from '../../bench/support/chromium.ts';
import { eventually } from '../../bench/support/stack.ts';
import { LiveStack } from '../support/programs/live-stack.ts';

const launch = await chromiumOrSkip('the keys of the live page in a real browser');

describe.skipIf(launch === undefined)('the live page without a mouse', () => {
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-live-keys-'));
  const adminTokenFile = join(folder, 'token');
  let stack: LiveStack;
  let browser: Browser;
  let page: Page;

  beforeAll(async () => {
    writeFileSync(adminTokenFile, 'a-token-of-administrators');
    stack = await LiveStack.start({ adminTokenFile });
    browser = await chromium.launch(launch);
    page = await browser.newPage({ locale: 'en-GB' });
    await page.goto(`http://${stack.admin}/ui`);
    await page.locator('.connection.live').waitFor();
    await stack.send(4);
    await page.locator('.list button').nth(3).waitFor();
  });
  afterAll(async () => {
    await browser?.close();
    await stack?.stop();
    rmSync(folder, { recursive: true });
  });

  const first = (): Promise<string> => page.locator('.list button').first().innerText();

  /** The number of the chart's last step of time. */
  const lastStep = async (): Promise<number> =>
    Number(await page.getByRole('slider').first().getAttribute('aria-valuemax'));

  /** Ends once the charts have two more steps: messages have come. */
  async function moved(): Promise<void> {
    const before = await lastStep();
    await eventually(lastStep, (now) => now > before + 1);
  }

  it('[O419] has the charts in its order of keys, which say the values at a time of their own', async () => {
    const chart = page.getByRole('slider', { name: 'Requests each second' });
    // A picker that has just started has a single step, and the keys have nowhere to go.
    await eventually(lastStep, (last) => last >= 2);
    await page.keyboard.press('Tab');
    const focused = await page.evaluate("document.activeElement.getAttribute('aria-label')");
    expect(focused).toBe('Requests each second');
    await page.keyboard.press('Home');
    const spoken = (): Promise<string | null> => chart.getAttribute('aria-valuetext');
    await eventually(
      async () => Number(await chart.getAttribute('aria-valuenow')),
      (at) => at === 0,
    );
    const start = await spoken();
    expect(start).toMatch(/^\d\d:\d\d:\d\d, decided [\d.]+\/s, .*failed at servers/);
    await page.keyboard.press('ArrowRight');
    await eventually(spoken, (now) => now !== null && now !== start && !now.includes('–'));
    // The cursor stays at its time while steps are added.
    const there = (await spoken())?.slice(0, 8);
    await moved();
    expect((await spoken())?.slice(0, 8)).toBe(there);
    await page.keyboard.press('Escape');
    await eventually(spoken, (now) => now?.slice(0, 8) !== there);
  });

  it('[O420] keeps the list of decisions still while the keys are in it, and Escape goes on with the latest', async () => {
    await page.locator('#pause').focus();
    await page.keyboard.press('Tab');
    await page.getByText('paused while the keys are in it').waitFor();
    const before = await first();
    // More than the list has rows.
    await stack.send(14);
    await moved();
    await page.keyboard.press('ArrowDown');
    await page.locator('.list li:nth-child(2) button[aria-pressed=true]').waitFor();
    expect(await first()).toBe(before);
    expect(await page.evaluate("document.activeElement.closest('.list') !== null")).toBe(true);
    // All decisions are one stop of the Tab key.
    expect(await page.locator('.list button[tabindex="0"]').count()).toBe(1);
    await page.keyboard.press('Escape');
    expect(await page.evaluate('document.activeElement.id')).toBe('pause');
    // Those that came meanwhile are listed, the last of the 4 and 14 first.
    await page.locator('.list li:first-child button[aria-pressed=true]').waitFor();
    await page.locator('.explained').getByText('decision 17').waitFor();
    expect(await first()).not.toBe(before);
  });
});
