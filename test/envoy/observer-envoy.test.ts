import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Document } from 'yaml';
import { envoyBinary, eventually, inFlightAt } from '../../bench/support/stack.ts';
import { EMBEDDED_CATALOGUE } from '../../src/catalogue/built-in-catalogue.ts';
import { readCapture } from '../../src/journal/capture/read-capture.ts';
import { CONNECTION_MANAGER } from '../../src/lab/envoy/render-config.ts';
import { redecide } from '../../src/redecide/redecide.ts';
import { sameDecision } from '../../src/redecide/redecision.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { type Serving } from '../../src/serve/serve.ts';
import { shadowFrom } from '../../src/shadow/shadow-data.ts';
import type { ShadowStatus } from '../../src/shadow/start-shadow.ts';
import { stubOptions } from '../../stub-server/options/stub-options.ts';
import { type StubPool, startStubPool } from '../../stub-server/pool.ts';
import { tellFigure } from '../support/figure.ts';
import {
  ask,
  counted,
  envoyWith,
  observed,
  startObserver,
  startPicker,
  WIRINGS,
} from '../support/observer-bed.ts';
import { PROGRAM } from '../support/programs/program.ts';
import { startUpstream, type Upstream } from '../support/servers/upstream.ts';

const binary = await envoyBinary();

const endpointsOf = (folder: string): readonly string[] =>
  [...readCapture(folder).records].flatMap((record) =>
    record.e === 'q' && 'endpoint' in record.d ? [record.d.endpoint] : [],
  );

function tallied(names: readonly string[]): Readonly<Record<string, number>> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return Object.fromEntries([...counts].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

const REQUESTS = 100;

// One picker and one observer for all wirings, because eight shadows would load for ten seconds.
describe.skipIf(binary === undefined)(
  'an observer beside another picker behind a real Envoy',
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'pointsman-observer-'));
    const of = (name: string): string => join(folder, name);
    let pool: StubPool;
    let picker: Serving;
    let observer: Serving;

    beforeAll(async () => {
      pool = await startStubPool(stubOptions.parse({ count: 4, port: 0, speed: 10, model: 'm' }));
      const endpoints = pool.endpoints.map(({ address }) => address);
      const captureIn = (name: string) => ({ capture: { folder: of(name), bytesMax: 1e9 } });
      picker = await startPicker({ endpoints, ...captureIn('picker') });
      const shadows = ['default', 'random'].map((name) => shadowFrom(name));
      observer = await startObserver({ endpoints, ...captureIn('observer'), shadows });
    });
    afterAll(async () => {
      await observer?.stop();
      await picker?.stop();
      await pool?.stop();
      rmSync(folder, { recursive: true });
    });

    describe.each(WIRINGS)('%s', (wiring, edit) => {
      /** Of this wiring and of those before it. */
      const all = REQUESTS * (1 + WIRINGS.findIndex(([name]) => name === wiring));

      let envoy: Awaited<ReturnType<typeof envoyWith>>;

      beforeAll(async () => {
        envoy = await envoyWith(picker.extProcPort, observer.extProcPort, edit);
        let sent = 0;
        const client = async (): Promise<void> => {
          while (sent < REQUESTS) {
            const n = sent++;
            const prompt = `${`family ${n % 5} `.repeat(60)} ${n}`;
            const response = await ask(envoy.url, prompt, n % 2 === 0);
            expect(response.status).toBe(200);
            await response.text();
          }
        };
        await Promise.all(Array.from({ length: 8 }, client));
      });
      // What the observer gets may come after the answers.
      afterAll(() => envoy?.stop());

      it('[B2] follows every request, and has nothing in flight at the end', async () => {
        await eventually(
          () => observed(observer.metricsPort),
          ({ booked }) => booked === all,
        );
        await eventually(
          () => inFlightAt(observer.metricsPort),
          (count) => count === 0,
        );
        expect(await observed(observer.metricsPort)).toEqual({ booked: all });
      });

      it('[D480] compares its configurations with the picker in charge, and says why they differ', async () => {
        const url = `http://127.0.0.1:${observer.metricsPort}/debug/shadows`;
        const shadows = await eventually(
          async () =>
            ((await (await fetch(url)).json()) as { shadows: readonly ShadowStatus[] }).shadows,
          (each) => each.every(({ parity }) => parity?.all.decisions === all),
        );
        const [own] = shadows;
        expect(own?.parity?.all.predicted).toBeGreaterThan(all / 2);
        expect(own?.parity?.all.disputed).toBe(0);
        const why = own?.parity?.explained?.why;
        const looked = Object.values(why ?? {}).reduce((sum, each) => sum + each, 0);
        expect(looked).toBeGreaterThan(0);
        const page = await (await fetch(`http://127.0.0.1:${observer.metricsPort}/metrics`)).text();
        const series = `pointsman_shadow_explained{shadow="default",why="same"} ${why?.same}`;
        expect(page).toContain(series);
      });
    });

    describe('at the end', () => {
      beforeAll(async () => {
        await observer.stop();
        await picker.stop();
      });

      it.each(WIRINGS)(
        '[B2] each request is booked at the endpoint that the picker in charge chose: %s',
        (wiring) => {
          const from = REQUESTS * WIRINGS.findIndex(([name]) => name === wiring);
          const [chosen, booked] = ['picker', 'observer'].map((name) =>
            tallied(endpointsOf(of(name)).slice(from, from + REQUESTS)),
          );
          expect(booked).toEqual(chosen);
        },
      );

      it('[B2] each decision of the observer is made again the same', async (context) => {
        const options = { catalogue: EMBEDDED_CATALOGUE, randomOf: seededRandom };
        let [requests, same] = [0, 0];
        for await (const { was, is } of redecide(readCapture(of('observer')).records, options)) {
          requests += 1;
          if (sameDecision(was, is)) same += 1;
        }
        const told = (name: string): string => JSON.stringify(tallied(endpointsOf(of(name))));
        const [promised, measured] = [told('picker'), told('observer')];
        const what = `${requests} requests of another picker, in ${WIRINGS.length} wirings`;
        tellFigure(context, { what, promised, measured });
        expect([requests, same]).toEqual([REQUESTS * WIRINGS.length, REQUESTS * WIRINGS.length]);
      });
    });
  },
);

describe.skipIf(binary === undefined)('what passes an observer', () => {
  let upstream: Upstream;
  let picker: Serving;
  let observer: Serving;

  beforeAll(async () => {
    upstream = await startUpstream();
    picker = await startPicker({ endpoints: [upstream.address] });
    // It does not know the endpoint, which must not matter either.
    observer = await startObserver({ endpoints: ['127.0.0.1:1'] });
  });
  afterAll(async () => {
    await observer?.stop();
    await picker?.stop();
    await upstream?.stop();
  });

  const alone = (config: Document): void => {
    config.deleteIn([...CONNECTION_MANAGER, 'http_filters', 1]);
  };
  const passed = async (change?: (config: Document) => void) => {
    upstream.answer((_received, response) => {
      response.writeHead(200, { 'x-of-the-server': 'yes' });
      response.end('answer '.repeat(20_000));
    });
    const envoy = await envoyWith(picker.extProcPort, observer.extProcPort, change);
    const before = counted(await observed(observer.metricsPort));
    try {
      const response = await ask(envoy.url, 'word '.repeat(80_000));
      const answer = await response.text();
      // With `observability_mode` Envoy does not wait until the observer has the whole body.
      if (change !== alone) {
        await eventually(
          async () => counted(await observed(observer.metricsPort)),
          (count) => count > before,
        );
      }
      const { 'x-request-id': id, ...rest } = upstream.received.at(-1)?.headers ?? {};
      const { host: _host, ...headers } = rest;
      const answered = [...response.headers].filter(
        ([name]) => !/^(?:date|x-envoy-upstream-service-time)$/.test(name),
      );
      const { bodySha256 } = upstream.received.at(-1) ?? {};
      return { status: response.status, answered, answer, id, headers, bodySha256 };
    } finally {
      await envoy.stop();
    }
  };
  /** What passes without the observer, which is the same for all wirings. */
  let without: ReturnType<typeof passed> | undefined;

  it.each(WIRINGS)('[B1] is what would pass without it, byte for byte: %s', async (_name, edit) => {
    without ??= passed(alone);
    const expected = await without;
    expect(await passed(edit)).toEqual(expected);
  });

  it('[B3] counts what it cannot follow', async () => {
    const { 'unknown-endpoint': unknown } = await observed(observer.metricsPort);
    expect(unknown).toBe(WIRINGS.length);
  });
});

describe.skipIf(binary === undefined)('an observer that has failed', () => {
  let upstream: Upstream;
  let picker: Serving;

  beforeAll(async () => {
    upstream = await startUpstream();
    picker = await startPicker({ endpoints: [upstream.address] });
  });
  afterAll(async () => {
    await picker?.stop();
    await upstream?.stop();
  });

  it.each(['SIGSTOP', 'SIGKILL'] as const)(
    'is not waited for after %s',
    async (signal) => {
      const flags = ['serve', '--observe', '--json', '--insecure', '--host=127.0.0.1'];
      const ports = ['--extproc-port=0', '--metrics-port=0', '--log-level=silent'];
      const child = spawn(
        process.execPath,
        [PROGRAM, ...flags, ...ports, `--endpoints=${upstream.address}`],
        { stdio: ['ignore', 'pipe', 'inherit'] },
      );
      const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
      const { extProcPort, metricsPort } = JSON.parse(line) as Serving;
      const envoy = await envoyWith(picker.extProcPort, extProcPort);
      try {
        expect((await ask(envoy.url, 'while it is well')).status).toBe(200);
        await eventually(
          () => observed(metricsPort),
          ({ booked }) => booked === 1,
        );
        child.kill(signal);
        // Two of the bodies have 2 MB or more, which is beyond the window of a stream (1 MiB).
        for (let n = 0; n < 50; n++) {
          const response = await ask(envoy.url, `${n} `.repeat(n % 25 === 0 ? 1_000_000 : 100));
          expect(response.status).toBe(200);
          await response.text();
        }
      } finally {
        await envoy.stop();
        child.kill('SIGKILL');
      }
    },
    60_000,
  );
});
