import { expect, it } from 'vitest';
import { z } from 'zod';
import { eventually } from '../../bench/support/stack.ts';
import { startChildCommand } from '../../src/lab/demo/child-command.ts';

const TEXT = `
apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins: [{ type: queue-scorer }]
flowControl: { maxRequests: 1 }
`;
const shadow = z.object({
  name: z.string(),
  running: z.boolean(),
  parity: z.unknown().optional(),
  restarts: z.int(),
});

it('[D321] an observer runs the configuration that its arguments hold as text, with their gates', async () => {
  const ports = ['--extproc-port=0', '--metrics-port=0', '--insecure', '--host=127.0.0.1'];
  const drain = '--drain-notice-ms=0';
  const config = ['--config-text', TEXT, '--feature-gates=flowControl'];
  const flags = ['--json', '--observe', '--endpoints=127.0.0.1:1', drain, ...config, ...ports];
  const observer = await startChildCommand(['serve', ...flags]);
  const { metricsPort } = z.object({ metricsPort: z.int() }).parse(observer.document);
  try {
    const path = `http://127.0.0.1:${metricsPort}/debug/shadows`;
    const shadows = async () =>
      z.object({ shadows: z.array(shadow) }).parse(await (await fetch(path)).json());
    const shown = await eventually(shadows, ({ shadows: [first] }) => first?.parity !== undefined);
    expect(shown.shadows).toMatchObject([{ name: '--config-text', running: true, restarts: 0 }]);
  } finally {
    await observer.stop();
  }
});
