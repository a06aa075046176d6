import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { pickerMaker } from '../src/index.ts';
import { SimulatedClock } from '../src/sim/simulated-clock.ts';

const root = join(import.meta.dirname, '..');

describe('a scheduler in a module', () => {
  it('decides, as docs/schedulers.md has it', async () => {
    const doc = readFileSync(join(root, 'docs/schedulers.md'), 'utf8');
    const code = /```ts\n(.*?)```/s.exec(doc)?.[1] ?? '';
    // Here, where `pointsman` and `zod` are found.
    const folder = mkdtempSync(join(root, 'test', 'module-'));
    try {
      const path = join(folder, 'first.ts');
      writeFileSync(path, code.replace("'pointsman'", "'../../src/index.ts'"));
      const createPicker = await pickerMaker([path]);
      const config = `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
scheduler: {type: first-endpoint}
`;
      const picker = createPicker({ config, seed: 1, clock: new SimulatedClock() });
      for (const id of ['a', 'b', 'c']) picker.addEndpoint({ id });
      const request = { model: 'm', promptTokens: 10 };
      const ids = Array.from({ length: 10 }, () => picker.route(request).endpoint.id);
      expect(new Set(ids)).toEqual(new Set(['a']));
      picker.stop();
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
