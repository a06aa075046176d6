import { type Browser, chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumOrSkip } from '../../bench/support/chromium.ts';
import type { LiveMessage, LiveRefusal, LiveWaiting } from '../../src/serve/live/live-message.ts';
import { LiveStack } from '../support/programs/live-stack.ts';
import { pageFaults } from '../support/programs/page-faults.ts';

const launch = await chromiumOrSkip('the live page in a real browser');

/** One side of a promotion. */
const LATE = {
  requests: 90,
  failed: 0,
  aborted: 0,
  undecided: { deadline: 40 },
  latency: { count: 90, meanMs: 80, varianceMs2: 1, waitedMs: 0 },
};

const WAITING: LiveWaiting = {
  requests: 3,
  bytes: 91_520,
  oldestMs: 1250,
  groups: [{ priority: 5, fairnessId: 'team-b', requests: 3, bytes: 91_520, oldestMs: 1250 }],
  endpoints: [{ endpoint: 'pod-c', requests: 2, prefillTokens: 41_000 }],
  endpointsNotShown: 0,
};

/**
 * Documents of pickers that have these parts, and what the page shows of each. The last is left
 * out.
 */
const PARTS: Readonly<Record<string, { readonly document: unknown; readonly shows: string }>> = {
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
      shadow: 'default',
      percent: 5,
      automatic: false,
      hasRule: true,
      outcomes: { challenger: LATE, incumbent: { ...LATE, undecided: {} } },
      conditions: [],
      events: [
        {
          wallMs: 1_795_464_382_685,
          what: 'demoted',
          shadow: 'mine.yaml',
          percent: 0,
          by: 'rule',
          why: '122 of its latest 7,328 requests failed',
        },
      ],
    },
    shows: '',
  },
};

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

describe.skipIf(launch === undefined)('what the live page shows of documents and messages', () => {
  let stack: LiveStack;
  let browser: Browser;

  beforeAll(async () => {
    stack = await LiveStack.start();
    await stack.send(5);
    browser = await chromium.launch(launch);
  });
  afterAll(async () => {
    await browser?.close();
    await stack?.stop();
  });

  it('[O11] shows what waits, headroom, replicas and shadows where the picker answers their documents', async () => {
    const context = await browser.newContext({ locale: 'en-GB', colorScheme: 'dark' });
    const page = await context.newPage();
    const first = await fetch(`http://${stack.admin}/debug/live`);
    const reader = first.body?.pipeThrough(new TextDecoderStream()).getReader();
    const { value = '' } = (await reader?.read()) ?? {};
    await reader?.cancel();
    const paths = Object.keys(PARTS);
    const documents = JSON.stringify(paths.slice(0, -1));
    const withWaiting = value.replace(/^data: \{/m, `data: {"waiting":${JSON.stringify(WAITING)},`);
    const body = withWaiting.replace(/"documents":\[[^\]]*\]/, `"documents":${documents}`);
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
    // [O526] It comes with the number at the top.
    await page.getByText('team-b', { exact: true }).waitFor();
    await page.getByText('Waiting: records that it has not read yet.').waitFor();
    await page.getByText('For pod-c (2).', { exact: true }).waitFor();
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
    // [G204] Its profiles decide in place of its scheduler.
    await page.getByText('left requests to its profiles: deadline 40.').waitFor();
    await page.getByText('by rule: 122 of its latest 7,328 requests failed').waitFor();
    expect(await pageFaults(page)).toEqual([]);
    await context.close();
  });

  it('[O447] [O448] [O472] cuts nothing on a phone, and says whether a shadow is sooner', async () => {
    await stack.send(1);
    const first = await nextMessage(stack.admin);
    const parity = {
      all: {
        decisions: 256,
        agreed: 99,
        predicted: 256,
        primaryTtftMs: 256e3,
        shadowTtftMs: 128e3,
      },
    };
    const shadow = { name: 'reference-default', running: true, restarts: 0, dropped: 0 };
    const documents: Record<string, unknown> = {
      ...Object.fromEntries(Object.entries(PARTS).map(([path, part]) => [path, part.document])),
      '/debug/shadows': { shadows: [{ ...shadow, parity }] },
    };
    const refusal: LiveRefusal = {
      requestId: 'd261ff04-8dc6-4ad2-b9f8-247bde1c76ad',
      wallMs: first.wallMs,
      priority: 0,
      fairnessId: 'default-flow',
      waitedMs: 3003,
      status: 429,
      why: 'the queue is full: it holds at most 12 requests in all bands',
    };
    const [shown] = first.decisions.shown;
    const named = ['llama', 'm'.repeat(200)].map((model) => ({ ...shown, id: model, model }));
    const message = {
      ...first,
      documents: Object.keys(documents),
      refused: [refusal],
      waiting: WAITING,
      picker: { ...first.picker, policy: `/etc/${'p'.repeat(100)}.yaml` },
      decisions: { made: 2, shown: named },
    };
    const context = await browser.newContext({ viewport: { width: 390, height: 844 } });
    const page = await context.newPage();
    // Only once: the page drops its documents with the first message of each connection.
    let isAnswered = false;
    await page.route('**/debug/live', async (route) => {
      if (isAnswered) return;
      isAnswered = true;
      await route.fulfill({
        contentType: 'text/event-stream',
        body: `data: ${JSON.stringify(message)}\n\n`,
      });
    });
    for (const [path, json] of Object.entries(documents)) {
      await page.route(`**${path}`, (route) => route.fulfill({ json }));
    }
    await page.goto(`http://${stack.admin}/ui`);
    await page.getByText('500 ms sooner', { exact: true }).waitFor();
    await page.getByText(refusal.requestId, { exact: true }).waitFor();
    const tables = page.locator('.parts .scroll');
    await tables.nth(3).waitFor();
    const cut = await tables.evaluateAll((parts: { scrollWidth: number; clientWidth: number }[]) =>
      parts.map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth),
    );
    expect(cut).toEqual([0, 0, 0, 0]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    // Each refusal takes few lines, and its id is whole.
    const { height = 0 } = (await page.locator('.refused li').first().boundingBox()) ?? {};
    expect(height).toBeLessThan(140);
    expect(await pageFaults(page)).toEqual([]);
    await context.close();
  });

  it('[O189] [O482] counts decisions each second by the picker’s step, however late a message comes, and explains in words', async () => {
    await stack.send(3);
    const first = await nextMessage(stack.admin);
    const { picker: _picker, ...later } = first;
    const step = { refused: 0, held: 0, failed: 0, ttftMs: null, wallMs: first.wallMs + 2000 };
    const events = [
      first,
      {
        ...later,
        wallMs: first.wallMs + 8000,
        steps: [{ ...step, picked: 50 }],
        decisions: { ...later.decisions, made: 100 },
      },
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
    expect(await pageFaults(page)).toEqual([]);
    await context.close();
  });
});
