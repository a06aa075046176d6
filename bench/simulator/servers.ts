import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:http';
import { packageFile } from '../../src/files/folders.ts';
import type { Answer } from './answer-facts.ts';
import type { Asked } from './asked.ts';

/** One command line for both, as a Deployment of the simulator has it. */
const ARGS = [
  '--model base --served-model-name m alias',
  '--lora-modules {"name":"a","path":"/p/a"} {"name":"b","path":"/p/b"} --max-loras 2',
  '--seed 1 --force-dummy-tokenizer --enable-request-id-headers --enable-sleep-mode',
  '--enable-kvcache --block-size 16 --zmq-endpoint tcp://127.0.0.1:1',
].flatMap((line) => line.split(' '));
const ENVIRONMENT = {
  POD_IP: '127.0.0.1',
  POD_NAME: 'pod',
  POD_NAMESPACE: 'namespace',
  VLLM_SERVER_DEV_MODE: '1',
};
const START_ATTEMPTS_MAX = 600;
const START_PAUSE_MS = 100;
/** One that sleeps does not answer. */
const ANSWER_MS_MAX = 10_000;

export interface RunningServer {
  ask(asked: Asked): Promise<Answer>;
  stop(): Promise<void>;
}

/** Starts the program at `path`, or our stub, by the simulator's command line. */
export async function startServer(path: string | undefined, port: number): Promise<RunningServer> {
  const [command, first] =
    path === undefined ? [process.execPath, [packageFile('src/main.ts')]] : [path, []];
  const child = spawn(command, [...first, ...ARGS, '--port', String(port)], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ...ENVIRONMENT },
  });
  const log: string[] = [];
  child.stderr.on('data', (bytes: Buffer) => void log.push(bytes.toString()));
  const exited = once(child, 'exit');
  const ask = (asked: Asked): Promise<Answer> => send(asked, port);
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  for (let left = START_ATTEMPTS_MAX; left > 0 && child.exitCode === null; left--) {
    const { status } = await ask({ name: '', method: 'GET', path: '/health' });
    if (status === 200) return { ask, stop };
    await new Promise((resolve) => setTimeout(resolve, START_PAUSE_MS));
  }
  await stop();
  throw new Error(`${command} does not serve: ${log.join('').slice(-1000)}`);
}

/**
 * A connection of its own for each request: a server that closes one does not harm the next. One
 * that closes it without an answer has the status 0, and why as the body.
 */
function send({ method, path, headers, body }: Asked, port: number): Promise<Answer> {
  const { promise, resolve } = Promise.withResolvers<Answer>();
  const fail = ({ code }: NodeJS.ErrnoException): void => {
    resolve({ status: 0, headers: [], body: code ?? '' });
  };
  const length = { 'content-length': Buffer.byteLength(body ?? '') };
  const type = { 'content-type': 'application/json' };
  const all = { ...(body !== undefined && { ...type, ...length }), ...headers };
  const options = { host: '127.0.0.1', port, method, path, headers: all, agent: false };
  const call = request(options, (response) => {
    const pieces: Buffer[] = [];
    response.on('data', (piece: Buffer) => void pieces.push(piece));
    response.on('error', fail);
    response.on('end', () => {
      const { statusCode: status = 0, rawHeaders } = response;
      resolve({ status, headers: rawHeaders, body: Buffer.concat(pieces).toString() });
    });
  });
  call.setTimeout(ANSWER_MS_MAX, () => void call.destroy(new Error(`${path}: no answer`)));
  call.on('error', fail);
  call.end(body);
  return promise;
}
