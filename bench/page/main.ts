import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { fetchChromium } from '../support/chromium.ts';
import { parseOptions } from '../support/parse-options.ts';
import { longestTaskCpuMs, nextEvents, openPage, pageCost } from './watch-page.ts';

const HELP = `npm run bench -- page [options]

How busy the live page keeps its own main thread in a real Chromium, while a picker in another process
decides made-up requests. Two cores serve both, so that a busy machine makes every figure larger but the
CPU of the longest task: alone, and while a person filters, sorts and turns pages.

  --endpoints <n>      model servers (1000)
  --per-second <n>     decisions a second (5000)
  --seconds <n>        how long it is watched (20)
  --screenshot <file>  also save a picture of the page
  --json               one JSON document on stdout
`;
/** The pool is sent every other second: this has at least two. */
const EVENTS = 5;
const WARM_UP_MS = 3000;
const TRACED_MS = 10_000;
/** The pool is drawn every other second. */
const VIEWED_MS = 2500;

const { values } = parseOptions({
  options: {
    help: { type: 'boolean', default: false },
    endpoints: { type: 'string', default: '1000' },
    'per-second': { type: 'string', default: '5000' },
    seconds: { type: 'string', default: '20' },
    screenshot: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});

async function main(): Promise<void> {
  if (values.help) return void process.stdout.write(HELP);
  const fetched = await fetchChromium((line) => void process.stderr.write(`${line}\n`));
  if ('unavailable' in fetched) throw new Error(fetched.unavailable);
  const endpoints = Number(values.endpoints);
  const opened = await openPage(
    { endpoints, perSecond: Number(values['per-second']) },
    fetched.launch,
  );
  try {
    await pageCost(opened.page, WARM_UP_MS);
    const cost = await pageCost(opened.page, 1000 * Number(values.seconds));
    const longest = {
      alone: await longestTaskCpuMs(opened.page, () => sleep(TRACED_MS)),
      used: await longestTaskCpuMs(opened.page, () => use(opened.page)),
    };
    const events = (await nextEvents(opened.base, EVENTS)).slice(1);
    const hint = await opened.page.locator('.decisions .head .hint').innerText();
    if (values.screenshot !== undefined) await opened.page.screenshot({ path: values.screenshot });
    const made = events.map(({ message }) => message.decisions.made);
    const seconds = spanOf(events.map(({ message }) => message.wallMs)) / 1000;
    const result = {
      endpoints,
      decisionsPerSecond: made.slice(1).reduce((sum, each) => sum + each, 0) / seconds,
      eventsPerSecond: (events.length - 1) / seconds,
      eventBytesMax: Math.max(...events.map(({ bytes }) => bytes)),
      ...cost,
      longestTaskCpuMs: longest,
      says: hint,
    };
    process.stdout.write(
      values.json ? `${JSON.stringify(result, undefined, 2)}\n` : textOf(result),
    );
  } finally {
    await opened.stop();
  }
}

/** What a person does with the pool, for long enough that each view is drawn anew. */
async function use(page: Page): Promise<void> {
  const filter = page.getByRole('searchbox');
  await filter.fill('decode-9');
  await sleep(VIEWED_MS);
  await filter.fill('');
  for (const name of ['Labels', 'Queue', 'Last', 'First']) {
    await page.locator('.pool').getByRole('button', { name }).first().click();
    await sleep(VIEWED_MS);
  }
}

function spanOf(times: readonly number[]): number {
  return (times.at(-1) ?? 0) - (times[0] ?? 0);
}

function textOf({
  endpoints,
  decisionsPerSecond,
  eventsPerSecond,
  eventBytesMax,
  busyShare,
  scriptShare,
  longTasksMs,
  longestTaskCpuMs: { alone, used },
  heapMbBefore,
  heapMb,
  says,
}: {
  readonly endpoints: number;
  readonly decisionsPerSecond: number;
  readonly eventsPerSecond: number;
  readonly eventBytesMax: number;
  readonly busyShare: number;
  readonly scriptShare: number;
  readonly longTasksMs: readonly number[];
  readonly longestTaskCpuMs: { readonly alone: number; readonly used: number };
  readonly heapMbBefore: number;
  readonly heapMb: number;
  readonly says: string;
}): string {
  const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
  const longest = longTasksMs.length === 0 ? '' : `, the longest ${Math.max(...longTasksMs)} ms`;
  return (
    `${endpoints} endpoints, ${decisionsPerSecond.toFixed(0)} decisions/s; the page says “${says}”\n` +
    `  main thread busy ${percent(busyShare)}, of it scripts ${percent(scriptShare)}; ` +
    `${longTasksMs.length} tasks of more than 50 ms${longest}; heap ${heapMbBefore.toFixed(1)} → ${heapMb.toFixed(1)} MB\n` +
    `  the longest task took ${alone.toFixed(0)} ms of CPU, ${used.toFixed(0)} ms while the page was used\n` +
    `  ${eventsPerSecond.toFixed(2)} events/s of at most ${eventBytesMax} bytes\n`
  );
}

// On `exit` the picker is killed.
process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));
await main();
