import { afterEach, describe, expect, it } from 'vitest';
import {
  A_HEADER,
  frame,
  GRPC_HEADERS,
  type RawHttp2Server,
  startRawHttp2Server,
} from '../../../test/support/servers/raw-http2-server.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { otlpSender } from './otlp-sender.ts';
import { planTracing } from './tracing-plan.ts';

let server: RawHttp2Server | undefined;
afterEach(() => server?.stop());

describe('a collector of traces', () => {
  it('[V454] that sends headers without an end by gRPC loses its connection before Node reads them', async () => {
    const more = Array.from({ length: 9 }, () => frame(9, 0, 1, A_HEADER));
    const answer = Buffer.concat([frame(1, 0, 1, GRPC_HEADERS), ...more]);
    server = await startRawHttp2Server((socket) => void socket.write(answer));
    const plan = planTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${server.port}` });
    if (plan === undefined) throw new Error('traces are off');
    const sender = await otlpSender(plan, new SimulatedClock());
    await expect(sender.send(Buffer.alloc(0))).rejects.toThrow('headers of over 9 frames');
    await sender.stop();
  });
});
