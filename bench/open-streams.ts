import { type ClientHttp2Session, connect } from 'node:http2';
import { packageFile } from '../src/files/folders.ts';
import { residentMb } from './cost/proc.ts';
import { prepareRequests } from './direct/requests.ts';
import { sendRequest } from './direct/send-request.ts';
import { addressesOf, startPicker, startUpstream } from './load/bed.ts';
import { startTogether } from './load/child.ts';
import { parseOptions } from './support/parse-options.ts';

const HELP = `npm run bench -- open-streams [options]

How much memory the picker has while many requests are open at once, each picked for and without an
answer yet, and how many of them fail. Without Envoy: the bench itself speaks ext_proc. Then all
answers come, and the same is done again.

  --streams <n>    requests open at once (10000)
  --kib <n>        size of each body in KiB (1)
  --endpoints <n>  model servers (64): with few of them the default policy lets requests wait for room
  --rounds <n>     how often all are opened and answered (3)
  --main <file>    the picker's main file, such as that of the build (src/main.ts)
`;

/** Envoy has few connections to a picker, each with many streams. */
const STREAMS_PER_CONNECTION = 500;
const CHUNKS = 20;

const { values } = parseOptions({
  options: {
    help: { type: 'boolean', default: false },
    streams: { type: 'string', default: '10000' },
    kib: { type: 'string', default: '1' },
    endpoints: { type: 'string', default: '64' },
    rounds: { type: 'string', default: '3' },
    main: { type: 'string', default: packageFile('src/main.ts') },
  },
});

/** Opens all streams, reports once the picker has passed on all requests, and answers them. */
async function measureRound(sessions: readonly ClientHttp2Session[], pid: number): Promise<string> {
  const streams = Number(values.streams);
  const requests = prepareRequests(Number(values.kib), CHUNKS);
  const answers = Promise.withResolvers<void>();
  const allPicked = Promise.withResolvers<void>();
  let open = 0;
  let failed = 0;
  const settle = (): void => {
    if (open + failed === streams) allPicked.resolve();
  };
  const sent = Array.from({ length: streams }, async (_, index) => {
    const session = sessions[index % sessions.length];
    const request = requests[index % requests.length];
    if (session === undefined || request === undefined) return;
    const picked = (): void => {
      open += 1;
      settle();
    };
    try {
      await sendRequest(session, request, { picked, until: answers.promise });
    } catch {
      failed += 1;
      settle();
    }
  });
  await allPicked.promise;
  const openMb = residentMb(pid);
  answers.resolve();
  await Promise.all(sent);
  const after = `${residentMb(pid).toFixed(0)} MB when all are answered`;
  return `${open} open: ${openMb.toFixed(0)} MB; ${after}; ${failed} failed`;
}

async function main(): Promise<void> {
  if (values.help) return void process.stdout.write(HELP);
  const log = (): void => undefined;
  const bed = await startTogether(async (keep) => {
    const endpoints = Number(values.endpoints);
    const upstream = keep(
      await startUpstream({ endpoints, page: 'small', answerChunks: 0 }, { log }),
    );
    const options = { config: 'default', main: values.main };
    const picker = await startPicker(options, addressesOf(upstream), { log, nodeFlags: [] });
    return { picker: keep(picker) };
  });
  const { pid, said } = bed.picker;
  const { extProcPort } = said as { readonly extProcPort: number };
  const sessions = Array.from(
    { length: Math.ceil(Number(values.streams) / STREAMS_PER_CONNECTION) },
    () => connect(`http://127.0.0.1:${extProcPort}`),
  );
  try {
    process.stdout.write(`without requests: ${residentMb(pid).toFixed(0)} MB\n`);
    for (let round = 1; round <= Number(values.rounds); round++) {
      process.stdout.write(`round ${round}: ${await measureRound(sessions, pid)}\n`);
    }
  } finally {
    for (const session of sessions) session.destroy();
    await bed.stop();
  }
}

// On `exit` the remaining children are killed.
process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));
await main();
