import { credentials, loadPackageDefinition, type ServiceClientConstructor } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { expect, it } from 'vitest';
import { makeRequest } from '../../../test/makers.ts';
import { headroomBed } from '../../../test/support/headroom-bed.ts';
import { packageFile } from '../../files/folders.ts';
import type { EndpointId } from '../../framework/endpoint.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { startExternalScaler } from './external-scaler.ts';

type Answer = Readonly<Record<string, unknown>>;
type Client = Record<
  'IsActive' | 'GetMetricSpec' | 'GetMetrics',
  (asked: object, reply: (error: Error | null, answer: Answer) => void) => void
> & {
  StreamIsActive(asked: object): {
    once(event: 'data', seen: (answer: Answer) => void): void;
    on(event: 'error', seen: (error: Error) => void): void;
    cancel(): void;
  };
  close(): void;
};

it('[Q109][O382] answers a gRPC client as KEDA’s external scaler, with the replicas that are wanted', async () => {
  const clock = new SimulatedClock();
  const { headroom, picker } = headroomBed(clock);
  const watch = headroom.start();
  const scaler = await startExternalScaler({ host: '127.0.0.1', port: 0, headroom, clock });
  const loaded = loadPackageDefinition(
    loadSync(packageFile('proto/keda/externalscaler.proto'), { keepCase: true, longs: Number }),
  )['externalscaler'] as unknown as { ExternalScaler: ServiceClientConstructor };
  const address = `127.0.0.1:${scaler.port}`;
  const client = new loaded.ExternalScaler(
    address,
    credentials.createInsecure(),
  ) as unknown as Client;
  const ask = (call: 'IsActive' | 'GetMetricSpec' | 'GetMetrics', asked: object): Promise<Answer> =>
    new Promise((resolve, reject) => {
      client[call](asked, (error, answer) => (error === null ? resolve(answer) : reject(error)));
    });
  const ref = { name: 'decode', namespace: 'default', scalerMetadata: { stage: 'all' } };
  try {
    expect(await ask('IsActive', ref)).toEqual({ result: false });
    for (const id of ['a', 'b']) {
      picker.pool.upsert({ id: id as EndpointId, address: `${id}:8000`, labels: new Map() });
    }
    picker.route(makeRequest());
    expect(await ask('IsActive', ref)).toEqual({ result: true });
    const stream = client.StreamIsActive(ref);
    stream.on('error', () => undefined);
    expect(await new Promise((resolve) => stream.once('data', resolve))).toEqual({ result: true });
    stream.cancel();
    const metricName = 'pointsman-desired-replicas-all';
    expect(await ask('GetMetricSpec', ref)).toEqual({
      metricSpecs: [{ metricName, targetSize: 1, targetSizeFloat: 1 }],
    });
    expect(await ask('GetMetrics', { scaledObjectRef: ref, metricName })).toEqual({
      metricValues: [{ metricName, metricValue: 2, metricValueFloat: 2 }],
    });
    const wrong = { ...ref, scalerMetadata: { stage: 'encoding' } };
    await expect(ask('GetMetricSpec', wrong)).rejects.toThrow(
      'stage encoding is not known; it is one of all, prefill, decode',
    );
    const absent = { scaledObjectRef: { ...ref, scalerMetadata: { stage: 'prefill' } } };
    await expect(ask('GetMetrics', absent)).rejects.toThrow(
      'the pool has no stage prefill, it has all: name that in the trigger',
    );
    const labels = new Map([['llm-d.ai/role', 'prefill']]);
    picker.pool.upsert({ id: 'c' as EndpointId, address: 'c:8000', labels });
    await expect(ask('GetMetrics', { scaledObjectRef: ref })).rejects.toThrow(
      'the pool has no stage all, it has prefill, decode: name one of them in the trigger',
    );
  } finally {
    client.close();
    scaler.stop();
    watch.stop();
    picker.stop();
  }
});
