import { setTimeout as sleep } from 'node:timers/promises';
import { createParser } from 'eventsource-parser';
import { type Browser, chromium, type LaunchOptions, type Page } from 'playwright-core';
import { packageFile } from '../../src/files/folders.ts';
import type { LiveMessage } from '../../src/serve/live/live-message.ts';
import { type Child, startChild } from '../load/child.ts';

/** The live page of a picker that decides in another process, in a real Chromium. */

export interface BusyPicker {
  readonly endpoints: number;
  readonly perSecond: number;
}

export interface OpenPage {
  readonly page: Page;
  /** Where the picker serves the page. */
  readonly base: string;
  stop(): Promise<void>;
}

/** Starts both and resolves when the page is live. */
export async function openPage(
  { endpoints, perSecond }: BusyPicker,
  launch: LaunchOptions,
): Promise<OpenPage> {
  const args = ['--endpoints', String(endpoints), '--per-second', String(perSecond)];
  const picker: Child = await startChild({
    name: 'picker',
    command: process.execPath,
    args: [packageFile('bench/page/deciding-picker.ts'), ...args],
    log: (line) => void process.stderr.write(`${line}\n`),
  });
  let browser: Browser | undefined;
  const stop = async (): Promise<void> => {
    await browser?.close();
    await picker.stop();
  };
  try {
    const { port } = picker.said as { readonly port: number };
    const base = `http://127.0.0.1:${port}`;
    browser = await chromium.launch(launch);
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
    await page.addInitScript(COUNT_LONG_TASKS);
    await page.goto(`${base}/ui`);
    await page.locator('.connection.live').waitFor();
    return { page, base, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** A task of more than 50 ms, in which the page answers nobody. */
const COUNT_LONG_TASKS = `
  window.longTasks = [];
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) window.longTasks.push(duration);
  }).observe({ type: 'longtask' });
`;

export interface PageCost {
  /** Share of the time in which the page's main thread was busy. */
  readonly busyShare: number;
  readonly scriptShare: number;
  /** Durations of the tasks of more than 50 ms. */
  readonly longTasksMs: readonly number[];
  /** What the page's scripts keep, after a garbage collection. */
  readonly heapMbBefore: number;
  readonly heapMb: number;
}

/** What the page's main thread does in so long a time. */
export async function pageCost(page: Page, durationMs: number): Promise<PageCost> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  const read = async (): Promise<ReadonlyMap<string, number>> => {
    await session.send('HeapProfiler.collectGarbage');
    const { metrics } = await session.send('Performance.getMetrics');
    return new Map(metrics.map(({ name, value }) => [name, value]));
  };
  const before = await read();
  await page.evaluate('window.longTasks = []');
  await sleep(durationMs);
  const longTasksMs = await page.evaluate<number[]>('window.longTasks');
  const after = await read();
  const of = (name: string): number => (after.get(name) ?? 0) - (before.get(name) ?? 0);
  return {
    busyShare: of('TaskDuration') / of('Timestamp'),
    scriptShare: of('ScriptDuration') / of('Timestamp'),
    longTasksMs,
    heapMbBefore: (before.get('JSHeapUsedSize') ?? 0) / 1e6,
    heapMb: (after.get('JSHeapUsedSize') ?? 0) / 1e6,
  };
}

interface TraceEvent {
  readonly ph: string;
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  /** Microseconds by the clock, and of the thread's CPU. */
  readonly dur?: number;
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

/**
 * The CPU time of the longest task of the page's main thread while `act` runs. On a busy machine
 * the same task takes many times as long by the clock, because it waits for a core.
 */
export async function longestTaskCpuMs(page: Page, act: () => Promise<unknown>): Promise<number> {
  const browser = page.context().browser();
  if (browser === null) throw new Error('the page has no browser of its own');
  await browser.startTracing(page, { categories: ['toplevel'] });
  await act();
  const text = (await browser.stopTracing()).toString();
  const { traceEvents } = JSON.parse(text) as { readonly traceEvents: readonly TraceEvent[] };
  const threadOf = ({ pid, tid }: TraceEvent): string => `${pid}/${tid}`;
  const mains = new Set(
    traceEvents
      .filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain')
      .map(threadOf),
  );
  const tasks = traceEvents.filter((event) => event.ph === 'X' && mains.has(threadOf(event)));
  if (tasks.length === 0) throw new Error('the trace has no task of the page');
  return tasks.reduce((most, { tdur = 0 }) => Math.max(most, tdur), 0) / 1000;
}

export interface LiveEvent {
  readonly bytes: number;
  readonly message: LiveMessage;
}

/** The next events of another viewer, who gets the same as the page. */
export async function nextEvents(base: string, count: number): Promise<readonly LiveEvent[]> {
  const abort = new AbortController();
  const { body } = await fetch(`${base}/debug/live`, { signal: abort.signal });
  const events: LiveEvent[] = [];
  const parser = createParser({
    onEvent: ({ data }) =>
      void events.push({ bytes: Buffer.byteLength(data), message: JSON.parse(data) }),
    maxBufferSize: 16 * 1024 * 1024,
  });
  const decoder = new TextDecoder();
  for await (const chunk of body ?? []) {
    parser.feed(decoder.decode(chunk, { stream: true }));
    if (events.length >= count) break;
  }
  abort.abort();
  return events;
}
