import { parseArgs } from 'node:util';
import { envoyBinary } from '../support/stack.ts';
import type { Agreement } from './compare.ts';
import { type LiveAgreement, measureAgreement } from './live.ts';

const HELP = `npm run bench -- agreement [options]

Sends requests through a real Envoy with two ext_proc filters: a picker that decides, and a Pointsman
with --observe. Compares each decision with what reference-default makes of the same inputs: the same
endpoint; a tie, as the score is the same; or explained by a scrape that lay between the two pickers.
POINTSMAN_REFERENCE_EPP names the reference picker's program; without it another Pointsman with
reference-default decides. Ends with code 1 where less than 98 % of the decisions are explained. The
last row says how many would be the same or explained if each pick had been drawn at random: the
further it is below, the more the other rows prove.

  --requests <n>   requests (2000)
  --servers <n>    model servers, stubs (4)
  --clients <n>    clients at the same time (16)
  --seed <n>       of the requests (1)
  --json           print one JSON document
`;

const EXPLAINED_MIN = 0.98;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      requests: { type: 'string', default: '2000' },
      servers: { type: 'string', default: '4' },
      clients: { type: 'string', default: '16' },
      seed: { type: 'string', default: '1' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const envoy = await envoyBinary();
  if (envoy === undefined) {
    process.exitCode = 2;
    return;
  }
  const result = await measureAgreement({
    envoy,
    reference: process.env['POINTSMAN_REFERENCE_EPP'] || undefined,
    requests: count('requests', values.requests),
    servers: count('servers', values.servers),
    clients: count('clients', values.clients),
    seed: count('seed', values.seed),
  });
  process.stdout.write(values.json ? `${JSON.stringify(result)}\n` : asText(result));
  if (explainedOf(result) < EXPLAINED_MIN * result.decisions) process.exitCode = 1;
}

function explainedOf({ same, ties, scrapes }: Agreement): number {
  return same + ties + scrapes;
}

function count(name: string, text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new Error(`--${name} is ${JSON.stringify(text)}, and must be a whole number of at least 1`);
}

function asText(result: LiveAgreement): string {
  const { inCharge, decisions, same, ties, scrapes, others, ofRandomPicks } = result;
  const row = (what: string, number: number): string => {
    const percent = ((100 * number) / Math.max(1, decisions)).toFixed(2);
    return `  ${what.padEnd(44)}${String(number).padStart(6)}${percent.padStart(8)} %`;
  };
  return `${[
    `in charge: ${inCharge}`,
    row('decisions', decisions),
    row('the same endpoint', same),
    row('a tie: the same score, drawn at random', ties),
    row('a scrape lay between the two pickers', scrapes),
    row('not explained', others.length),
    row('the same or explained of picks at random', explainedOf(ofRandomPicks)),
    ...(others.length === 0 ? [] : [`  requests not explained: ${others.slice(0, 20).join(', ')}`]),
  ].join('\n')}\n`;
}

await main();
