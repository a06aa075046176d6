import { gzipSync } from 'node:zlib';
import type { Visit } from './scripted-server.ts';

/** How a server may answer, or fail to. */
export interface AnswerFault {
  readonly name: string;
  /** What the client gets where the engine answers so. */
  readonly status: number;
  /** Undefined: the engine's text. */
  readonly text?: string;
  readonly silent?: true;
  /** Whether the answer of a prefilling server serves. */
  readonly serves?: true;
  /** Undefined: nothing listens. */
  readonly answer?: (visit: Visit, text: string, type: string) => unknown;
}

/** In place of texts: an error that the sidecar writes, and an answer without its end. */
export const OF_SIDECAR = 'of the sidecar';
export const BROKEN_OFF = 'broken off';
const ERROR_TEXT = '{"error":{"message":"no"}}';

const errors: readonly AnswerFault[] = [307, 400, 404, 429, 500, 503].map((status) => ({
  name: String(status),
  status,
  text: ERROR_TEXT,
  answer: ({ response }) => response.writeHead(status, { location: '/' }).end(ERROR_TEXT),
}));

const harmless: readonly AnswerFault[] = [
  {
    name: 'well',
    status: 200,
    answer: ({ response }, text, type) =>
      response.writeHead(200, { 'content-type': type }).end(text),
  },
  {
    name: 'byte by byte',
    status: 200,
    answer: async ({ response }, text, type) => {
      response.writeHead(200, { 'content-type': type });
      for (const byte of text) {
        response.write(byte);
        await new Promise(setImmediate);
      }
      response.end();
    },
  },
  {
    name: 'with trailers',
    status: 200,
    answer: ({ response }, text, type) => {
      response.writeHead(200, { 'content-type': type, trailer: 'x-end' }).write(text);
      response.addTrailers({ 'x-end': '1' });
      response.end();
    },
  },
  {
    name: 'with another type',
    status: 200,
    answer: ({ response }, text) =>
      response.writeHead(200, { 'content-type': 'text/plain' }).end(text),
  },
  {
    name: 'compressed, if it may',
    status: 200,
    answer: ({ response, headers }, text, type) => {
      response.setHeader('content-type', type);
      if (!/gzip/.test(String(headers['accept-encoding']))) return response.end(text);
      return response.setHeader('content-encoding', 'gzip').end(gzipSync(text));
    },
  },
];

const broken: readonly AnswerFault[] = [
  { name: 'no connection', status: 503, text: OF_SIDECAR },
  {
    name: 'a reset',
    status: 502,
    text: OF_SIDECAR,
    answer: ({ response }) => response.socket?.resetAndDestroy(),
  },
  {
    name: 'no HTTP',
    status: 502,
    text: OF_SIDECAR,
    answer: ({ response }) => response.socket?.end('SSH-2.0-OpenSSH_9.9\r\n\r\n'),
  },
  {
    name: 'endless headers',
    status: 502,
    text: OF_SIDECAR,
    answer: ({ response }) => response.setHeader('x', 'x'.repeat(1e6)).end(),
  },
  { name: 'silence', status: 504, text: OF_SIDECAR, silent: true, answer: () => undefined },
  {
    name: 'silence after a part',
    status: 200,
    text: BROKEN_OFF,
    silent: true,
    answer: ({ response }, text) => response.writeHead(200).write(text.slice(0, 9)),
  },
  {
    name: 'half',
    status: 200,
    text: BROKEN_OFF,
    answer: ({ response }, text) =>
      response.writeHead(200).write(text.slice(0, 9), () => response.destroy()),
  },
  {
    name: 'a page',
    status: 200,
    text: '<html>',
    answer: ({ response }) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
  },
  { name: '204', status: 204, text: '', answer: ({ response }) => response.writeHead(204).end() },
];

export const ANSWER_FAULTS: readonly AnswerFault[] = [
  ...harmless.map((each) => ({ ...each, serves: true as const })),
  ...errors,
  ...broken,
];
export const WELL = ANSWER_FAULTS[0] as AnswerFault;
