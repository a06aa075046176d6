import { describe, expect, test } from 'vitest';
import { ConfigError } from '../../framework/error.ts';
import { planTracing } from './tracing-plan.ts';

describe('the variables of OpenTelemetry', () => {
  test('[O80] have the reference’s defaults: gRPC to this machine, a tenth of the roots', () => {
    expect(planTracing({})).toMatchObject({
      protocol: 'grpc',
      url: 'http://localhost:4317',
      byParent: true,
      ratio: 0.1,
      batch: { maxQueueSize: 2048, scheduledDelayMillis: 5000 },
    });
  });

  test.each([
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://otel:4317' }, 'http://otel:4317'],
    [
      {
        OTEL_EXPORTER_OTLP_ENDPOINT: 'http://otel:4318/',
        OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
      },
      'http://otel:4318/v1/traces',
    ],
    [
      {
        OTEL_EXPORTER_OTLP_ENDPOINT: 'http://otel:4318',
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://traces:443/in',
        OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/protobuf',
      },
      'https://traces:443/in',
    ],
  ])('[O80] %j send to %s', (environment, url) => {
    expect(planTracing(environment)?.url).toBe(url);
  });

  test.each([
    ['always_on', '0.5', { byParent: false, ratio: 1 }],
    ['always_off', undefined, { byParent: false, ratio: 0 }],
    ['traceidratio', '0.5', { byParent: false, ratio: 0.5 }],
    ['parentbased_always_on', undefined, { byParent: true, ratio: 1 }],
    ['parentbased_always_off', undefined, { byParent: true, ratio: 0 }],
    ['parentbased_traceidratio', '1', { byParent: true, ratio: 1 }],
  ])('[O83] sampler %s with `%s`', (sampler, ratio, expected) => {
    const environment = { OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: ratio };
    expect(planTracing(environment)).toMatchObject(expected);
  });

  test.each([{ OTEL_SDK_DISABLED: 'TRUE' }, { OTEL_TRACES_EXPORTER: 'none' }])(
    '[O80] %j switches traces off',
    (environment) => {
      expect(planTracing(environment)).toBeUndefined();
    },
  );

  test.each([
    ['OTEL_TRACES_EXPORTER', 'zipkin', 'it must be otlp or none'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'http/json', 'it must be grpc or http/protobuf'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'otel:4317', 'it must be a URL such as'],
    ['OTEL_TRACES_SAMPLER', 'jaeger_remote', 'it must be always_on, always_off'],
    ['OTEL_TRACES_SAMPLER_ARG', '2', 'it must be a number from 0 to 1'],
    ['OTEL_BSP_MAX_QUEUE_SIZE', 'many', 'it must be a number above 0'],
  ])('[O80] %s=%s is refused with its name, its value and what to do', (name, value, sentence) => {
    const plan = (): unknown => planTracing({ [name]: value });
    expect(plan).toThrow(ConfigError);
    expect(plan).toThrow(`${name}: is ${value}: ${sentence}`);
  });
});
