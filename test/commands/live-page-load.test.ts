import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type LiveEvent,
  nextEvents,
  type OpenPage,
  openPage,
} from '../../bench/page/watch-page.ts';
import { chromiumOrSkip } from '../../bench/support/chromium.ts';
import { eventually } from '../../bench/support/stack.ts';

const ENDPOINTS = 1000;
/** What a busy machine reaches is less, and always far more than the page shows. */
const PER_SECOND = 5000;
const SHOWN_MAX = 10;
const LISTED_MAX = 12;
const ROWS_DRAWN_MAX = 50;
const EVENT_BYTES_MAX = 500_000;
/** The number of all elements of the page. */
const ELEMENTS_MAX = 2000;
const launch = await chromiumOrSkip('the live page of a large, busy pool in a real browser');

describe.skipIf(launch === undefined)('the live page of a large, busy pool', () => {
  let opened: OpenPage;

  beforeAll(async () => {
    opened = await openPage({ endpoints: ENDPOINTS, perSecond: PER_SECOND }, launch ?? {});
  });
  afterAll(() => opened?.stop());

  it('[O188] shows a sample of the decisions and says so', async () => {
    const hint = opened.page.locator('.decisions .head .hint');
    await eventually(
      () => hint.innerText(),
      (text) => /^a sample: 10 of [\d,]{3,} each second$/.test(text),
    );
    expect(await opened.page.locator('.list li').count()).toBeLessThanOrEqual(LISTED_MAX);
  });

  it('[O188] draws the same few elements after any number of events', async () => {
    const { page } = opened;
    const elements = (): Promise<number> => page.evaluate('document.querySelectorAll("*").length');
    expect(await page.locator('.pool tbody tr').count()).toBe(ROWS_DRAWN_MAX);
    const before = await elements();
    await nextEvents(opened.base, 4);
    const after = await elements();
    expect(before).toBeLessThan(ELEMENTS_MAX);
    expect(after).toBeLessThan(ELEMENTS_MAX);
    await page.getByRole('searchbox').fill('decode-99');
    await page.getByText('11 of 1,000').waitFor();
    await page.getByRole('searchbox').fill('');
  });

  it('[O290] shows the endpoints beyond the first ones page by page, never more at once', async () => {
    const { page } = opened;
    const rows = page.locator('.pool tbody tr');
    await page.getByRole('button', { name: 'Endpoint', exact: true }).click();
    await page.getByText('1–50 of 1,000').waitFor();
    expect(await page.getByRole('button', { name: 'Previous' }).isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('51–100 of 1,000').waitFor();
    expect(await rows.count()).toBe(ROWS_DRAWN_MAX);
    await page.getByRole('button', { name: 'Last' }).click();
    await page.getByText('951–1,000 of 1,000').waitFor();
    await page.getByText('llama-70b-decode-999', { exact: true }).first().waitFor();
    expect(await rows.count()).toBe(ROWS_DRAWN_MAX);
    // Another order, and fewer that fit, begin at the first page.
    await page.getByRole('searchbox').fill('decode-9');
    await page.getByText('1–50 of 111').waitFor();
    await page.getByRole('searchbox').fill('');
  });

  it('[O188] gets few bytes an event, however many decisions there were', async () => {
    const events: readonly LiveEvent[] = await nextEvents(opened.base, 4);
    for (const { bytes, message } of events) {
      expect(bytes).toBeLessThan(EVENT_BYTES_MAX);
      expect(message.decisions.shown.length).toBeLessThanOrEqual(SHOWN_MAX);
      expect(message.pool?.rows.length ?? 0).toBeLessThanOrEqual(ENDPOINTS);
    }
    const withPool = events.slice(1).filter(({ message }) => message.pool !== undefined);
    expect(withPool.length).toBeLessThan(events.length - 1);
    expect(Math.max(...events.map(({ message }) => message.decisions.made))).toBeGreaterThan(
      10 * SHOWN_MAX,
    );
  });
});
