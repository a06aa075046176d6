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

describe.skipIf(binary === undefined).each(WIRINGS)(
  'an observer beside another picker behind a real Envoy: %s',
  (wiring, edit) => {
    const REQUESTS = 100;
    const folder = mkdtempSync(join(tmpdir(), 'pointsman-observer-'));
    let pool: StubPool;
    let picker: Serving;
    let observer: Serving;
    let envoy: Awaited<ReturnType<typeof envoyWith>>;

    beforeAll(async () => {
      pool = await startStubPool(stubOptions.parse({ count: 4, port: 0, speed: 10, model: 'm' }));
      const endpoints = pool.endpoints.map(({ address }) => address);
      picker = await startPicker({
        endpoints,
        capture: { folder: join(folder, 'picker'), bytesMax: 1e9 },
      });
      observer = await startObserver({
        endpoints,
        capture: { folder: join(folder, 'observer'), bytesMax: 1e9 },
        shadows: ['default', 'random'].map((name) => shadowFrom(name)),
      });
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
    afterAll(async () => {
      await envoy?.stop();
      await observer?.stop();
      await picker?.stop();
      await pool?.stop();
      rmSync(folder, { recursive: true });
    });

    it('[B2] follows every request, and has nothing in flight at the end', async () => {
      await eventually(
        () => observed(observer.metricsPort),
        ({ booked }) => booked === REQUESTS,
      );
      await eventually(
        () => inFlightAt(observer.metricsPort),
        (count) => count === 0,
      );
      expect(await observed(observer.metricsPort)).toEqual({ booked: REQUESTS });
    });

    it('[D480] compares its configurations with the picker in charge, and says why they differ', async () => {
      const url = `http://127.0.0.1:${observer.metricsPort}/debug/shadows`;
      const shadows = await eventually(
        async () =>
          ((await (await fetch(url)).json()) as { shadows: readonly ShadowStatus[] }).shadows,
        (all) => all.every(({ parity }) => parity?.all.decisions === REQUESTS),
      );
      const [own] = shadows;
      expect(own?.parity?.all.predicted).toBeGreaterThan(REQUESTS / 2);
      expect(own?.parity?.all.disputed).toBe(0);
      const why = own?.parity?.explained?.why;
      const looked = Object.values(why ?? {}).reduce((sum, each) => sum + each, 0);
      expect(looked).toBeGreaterThan(0);
      const page = await (await fetch(`http://127.0.0.1:${observer.metricsPort}/metrics`)).text();
      const series = `pointsman_shadow_explained{shadow="default",why="same"} ${why?.same}`;
      expect(page).toContain(series);
    });

    it('[B2] books each request at the endpoint that the picker in charge chose', async (context) => {
      await envoy.stop();
      await observer.stop();
      await picker.stop();
      const chosen = tallied(endpointsOf(join(folder, 'picker')));
      const booked = tallied(endpointsOf(join(folder, 'observer')));
      tellFigure(context, {
        what: `${REQUESTS} requests of another picker, ${wiring}`,
        promised: JSON.stringify(chosen),
        measured: JSON.stringify(booked),
      });
      expect(booked).toEqual(chosen);
      const options = { catalogue: EMBEDDED_CATALOGUE, randomOf: seededRandom };
      let same = 0;
      for await (const { was, is } of redecide(
        readCapture(join(folder, 'observer')).records,
        options,
      )) {
        if (sameDecision(was, is)) same += 1;
      }
      expect(same).toBe(REQUESTS);
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

  it.each(WIRINGS)('[B1] is what would pass without it, byte for byte: %s', async (_name, edit) => {
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
    expect(await passed(edit)).toEqual(await passed(alone));
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
