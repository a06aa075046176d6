import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { exampleOrSkip } from '../../bench/support/example-schedulers.ts';
import { packageFile } from '../../src/files/folders.ts';
import { decodeSchedulerMessage } from '../../src/remote/messages.ts';

const command = await exampleOrSkip('python');
const folder = join(packageFile('deploy'), 'examples/schedulers/python');

/** The message that the picker gets for what `decide` has returned. */
function sent(decided: string): unknown {
  const program = `from pointsman_scheduler import Decision, _decision\nprint(_decision("r", ${decided}).hex())`;
  const [python = ''] = command ?? [];
  const env = { ...process.env, PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: '1' };
  const hex = execFileSync(python, ['-c', program], { env, encoding: 'utf8' }).trim();
  return decodeSchedulerMessage(Buffer.from(hex, 'hex'))?.decisions[0];
}

describe.skipIf(command === undefined)('what a scheduler in Python decides', () => {
  it('[G202] may be targets alone, none, a refusal, or all that a decision has', () => {
    expect(sent('[(3, 0.5), (1, 0.25)]')).toMatchObject({
      id: 'r',
      targets: [
        { slot: 3, score: 0.5 },
        { slot: 1, score: 0.25 },
      ],
      refuse: false,
    });
    expect(sent('None')).toMatchObject({ id: 'r', targets: [], refuse: false });
    expect(sent('Decision(refuse=True)')).toMatchObject({ targets: [], refuse: true });
    expect(sent('Decision([(3, 1.0)], prefill_slot=0, headers={"x-tier": "gold"})')).toMatchObject({
      targets: [{ slot: 3, score: 1 }],
      prefillSlot: 0,
      headers: { 'x-tier': 'gold' },
    });
  });
});
