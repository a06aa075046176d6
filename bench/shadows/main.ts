import { parseOptions } from '../support/parse-options.ts';
import { measureLive, type Outcome } from './live.ts';
import { measurePath } from './path.ts';
import { soak } from './soak.ts';

const HELP = `npm run bench -- shadows [options]

Measures what eight shadows, two of them in other processes, add to the latency of requests: two
pickers, each behind a real Envoy, get the same open loop in turn. With --soak it measures memory
while a million requests go through a decision core with four shadows, as fast as these keep up.

  --rate <n>       requests a second (200)
  --seconds <n>    seconds per round (3)
  --rounds <n>     rounds of each picker (20)
  --path           measure only the time of a pick, in one process, without Envoy
  --soak           measure memory
  --requests <n>   requests of --soak (1000000)
  --json           print one JSON document
`;

const say = (line: string): void => void process.stderr.write(`${line}\n`);

async function main(): Promise<void> {
  const { values } = parseOptions({
    options: {
      rate: { type: 'string', default: '200' },
      seconds: { type: 'string', default: '3' },
      rounds: { type: 'string', default: '20' },
      path: { type: 'boolean', default: false },
      soak: { type: 'boolean', default: false },
      requests: { type: 'string', default: '1000000' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const count = (name: 'rate' | 'seconds' | 'rounds' | 'requests'): number => {
    const value = Number(values[name]);
    if (!Number.isInteger(value) || value < 1) {
      throw new Error(`--${name} must be a whole number above 0, not ${values[name]}`);
    }
    return value;
  };
  const measure = (): Promise<Outcome> => {
    if (values.soak) return soak({ requests: count('requests'), say });
    if (values.path) return measurePath();
    const timing = { perSecond: count('rate'), seconds: count('seconds'), rounds: count('rounds') };
    return measureLive({ ...timing, say });
  };
  const { document, text } = await measure();
  process.stdout.write(values.json ? `${JSON.stringify(document)}\n` : text);
}

await main();
process.exit(0);
