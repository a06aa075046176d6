import { expect, it } from 'vitest';
import { serveOptions } from '../../../bench/support/stack.ts';
import type { Log } from '../../runtime/log/log.ts';
import { startServe } from '../serve.ts';
import { logWarnings } from './log-start.ts';

it('[O161] warns at the start that there is no endpoint, and says how to name one', async () => {
  const warned: string[] = [];
  const drop = (): void => undefined;
  const log: Log = {
    debug: drop,
    info: drop,
    warn: (_fields, message) => void warned.push(message),
    error: drop,
  };
  const serving = await startServe(serveOptions({ endpoints: [], drainNoticeMs: 0, log }));
  await serving.stop();
  expect(warned).toEqual([
    expect.stringMatching(
      /^there is no endpoint: every request is refused .*; no --endpoints, .* is given$/,
    ),
  ]);
});

it('[O291] says why there is no endpoint where a list names none', async () => {
  const serving = await startServe(serveOptions({ endpoints: [], drainNoticeMs: 0 }));
  const answer = await fetch(`http://127.0.0.1:${serving.metricsPort}/readyz`);
  await serving.stop();
  expect(await answer.json()).toMatchObject({
    reasons: ['there are no endpoints: no --endpoints, --endpoints-file or --pool-name is given'],
  });
});

it('[V28] says at the start what serves: version, policy, TLS, ports and endpoints', async () => {
  const lines: (readonly [object, string])[] = [];
  const drop = (): void => undefined;
  const log: Log = {
    debug: drop,
    info: (fields, message) => void lines.push([fields, message]),
    warn: drop,
    error: drop,
  };
  const endpoints = Array.from({ length: 10 }, (_, at) => `127.0.0.1:${at + 1}`);
  for (const [insecure, tls] of [
    [true, 'none'],
    [false, 'self-signed certificate, TLSv1.2 or newer'],
  ] as const) {
    const options = serveOptions({ endpoints, insecure, policy: 'default', drainNoticeMs: 0, log });
    const serving = await startServe(options);
    await serving.stop();
    const start = lines.find(([, message]) => message === 'serving')?.[0];
    expect(start).toEqual({
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      policy: 'default',
      tls,
      extProcPort: serving.extProcPort,
      healthPort: undefined,
      metricsPort: serving.metricsPort,
      livePage: `http://127.0.0.1:${serving.metricsPort}/ui`,
      endpoints: 10,
      addresses: endpoints.slice(0, 8),
    });
    lines.length = 0;
  }
});

it('[O374] names the live page by the address that is listened on, and by this machine where that is any', async () => {
  const pages: unknown[] = [];
  const drop = (): void => undefined;
  const info: Log['info'] = (fields) => void pages.push((fields as { livePage?: string }).livePage);
  const log: Log = { debug: drop, info, warn: drop, error: drop };
  for (const host of ['0.0.0.0', '127.0.0.2', '::1']) {
    const serving = await startServe(
      serveOptions({ host, endpoints: ['a:1'], drainNoticeMs: 0, log }),
    );
    await serving.stop();
  }
  expect(pages.filter(Boolean)).toEqual([
    expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/ui$/),
    expect.stringMatching(/^http:\/\/127\.0\.0\.2:\d+\/ui$/),
    expect.stringMatching(/^http:\/\/\[::1\]:\d+\/ui$/),
  ]);
});

it('[V373] lists twenty warnings of a configuration, and counts the others', () => {
  const lines: (readonly [object, string])[] = [];
  const warn: Log['warn'] = (fields, message) => void lines.push([fields, message]);
  logWarnings(
    { warn },
    Array.from({ length: 10_000 }, (_, at) => `plugins[${at}]`),
  );
  expect(lines).toHaveLength(21);
  expect(lines[19]).toEqual([{ warning: 'plugins[19]' }, 'configuration']);
  expect(lines[20]?.[0]).toEqual({ more: 9980 });
});
