import type { ServerResponse } from 'node:http';
import { pagedList, podOf } from './cluster-objects.ts';

export interface Question {
  readonly url: URL;
  readonly isWatch: boolean;
}

/** Answers the question and returns true, or leaves it to the API server, which answers as usual. */
export type Attack = (question: Question, response: ServerResponse) => boolean;

const MB = 1024 * 1024;
const isPods = ({ url }: Question): boolean => url.pathname.endsWith('/pods');
const ok = (response: ServerResponse): void =>
  void response.writeHead(200, { 'content-type': 'application/json' });

/** Writes pieces as fast as they are taken, until there are no more. */
function pour(response: ServerResponse, next: () => string | undefined): void {
  const go = (): void => {
    for (let piece = next(); piece !== undefined; piece = next()) {
      if (response.destroyed) return;
      if (!response.write(piece)) {
        response.once('drain', () => setImmediate(go));
        return;
      }
    }
    response.end();
  };
  go();
}

/** Floods each watch of pods; lists are answered as usual. */
const watches =
  (next: () => string | undefined): Attack =>
  (question, response) => {
    if (!isPods(question) || !question.isWatch) return false;
    ok(response);
    pour(response, next);
    return true;
  };
const event = (type: string, object: object): string => `${JSON.stringify({ type, object })}\n`;
const many = (one: () => string, count = 50): string => Array.from({ length: count }, one).join('');

let made = 0;
const ip = (at: number): string => `127.${2 + ((at >> 16) % 200)}.${(at >> 8) & 255}.${at & 255}`;
const newPod = (): object => podOf(`new-${(made += 1)}`, ip(made), { version: 100 + made });

/** Answers each list of pods with what `pieces` gives; watches are answered as usual. */
const lists =
  (pieces: () => () => string | undefined): Attack =>
  (question, response) => {
    if (!isPods(question) || question.isWatch) return false;
    ok(response);
    pour(response, pieces());
    return true;
  };
/** Watches of pods end with 410, so that they are listed again and again. */
const listing =
  (attack: Attack): Attack =>
  (question, response) => {
    if (!isPods(question) || !question.isWatch) return attack(question, response);
    return refuse(410)(question, response);
  };

/** The first watch of pods ends with 410, so that they are listed; later ones are quiet. */
const once = (attack: Attack): Attack => {
  let listed = false;
  return (question, response) => {
    if (!isPods(question)) return false;
    if (!question.isWatch) return attack(question, response);
    if (listed) ok(response);
    else refuse(410)(question, response);
    if (listed) response.flushHeaders();
    listed = true;
    return true;
  };
};

/** Answers each list of pods with so many, in pages as they are asked for. */
const pods =
  (count: number): Attack =>
  (question, response) => {
    if (!isPods(question) || question.isWatch) return false;
    ok(response);
    const from = Number(question.url.searchParams.get('continue') ?? 0);
    const limit = Number(question.url.searchParams.get('limit') ?? count);
    const to = Math.min(count, from + limit);
    const items = Array.from({ length: to - from }, (_, at) =>
      podOf(`p-${from + at}`, ip(from + at)),
    );
    response.end(JSON.stringify(pagedList(items, to < count ? String(to) : undefined)));
    return true;
  };

const refuse =
  (status: number, headers: Readonly<Record<string, string>> = {}): Attack =>
  (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify({ kind: 'Status', code: status, message: 'no' }));
    return true;
  };

function upTo(bytes: number, head: string, piece: string, tail: string): () => string | undefined {
  let left = bytes;
  const parts = [head];
  return () => {
    const first = parts.shift();
    if (first !== undefined) return first;
    if (left <= 0) return undefined;
    left -= piece.length;
    return left <= 0 ? tail : piece;
  };
}

const HEAD =
  'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n';
/** So much of a body at once, each byte in a chunk of its own. */
const inBytes = (text: string): string => Array.from(text, (each) => `1\r\n${each}\r\n`).join('');
const SPACES = inBytes(' '.repeat(10_000));

/** Writes bytes of its own to the connection, without end. */
const raw =
  (head: string, piece: () => string, answers: (question: Question) => boolean): Attack =>
  (question, { socket }) => {
    if (!isPods(question) || !answers(question) || socket === null) return false;
    socket.on('error', () => undefined).write(head);
    const go = (): void => {
      while (!socket.destroyed && socket.write(piece()));
      if (!socket.destroyed) socket.once('drain', () => setImmediate(go));
    };
    go();
    return true;
  };
const isWatch = (question: Question): boolean => question.isWatch;
const isList = (question: Question): boolean => !question.isWatch;
const deep = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

const LARGE = 'x'.repeat(10 * MB);

export const ATTACKS: Readonly<Record<string, Attack>> = {
  'same-pod': watches(() =>
    many(() => event('MODIFIED', podOf('pod-0', '127.0.1.1', { version: (made += 1) }))),
  ),
  'flapping-pod': watches(() =>
    many(() => {
      made += 1;
      return event(made % 2 ? 'DELETED' : 'ADDED', podOf('pod-0', '127.0.1.1', { version: made }));
    }),
  ),
  'new-pods': watches(() => many(() => event('ADDED', newPod()))),
  bookmarks: watches(() =>
    many(() => event('BOOKMARK', { metadata: { resourceVersion: String((made += 1)) } }), 500),
  ),
  garbage: watches(() => 'what is this?\n'.repeat(5000)),
  'endless-line': watches(() => 'x'.repeat(64 * 1024)),
  'large-objects': watches(() =>
    event('ADDED', podOf(`large-${(made += 1)}`, ip(made), { labels: { note: LARGE } })),
  ),
  'large-list': listing(
    lists(() =>
      upTo(
        500 * MB,
        '{"metadata":{"resourceVersion":"1"},"items":[',
        `${JSON.stringify(podOf('a', '127.0.1.1', { annotations: { a: 'x'.repeat(MB) } }))},`,
        '{}]}',
      ),
    ),
  ),
  'endless-continue': listing((question, response) => {
    if (!isPods(question) || question.isWatch) return false;
    ok(response);
    response.end(JSON.stringify(pagedList(Array.from({ length: 100 }, newPod), 'more')));
    return true;
  }),
  'fifty-thousand': listing(pods(50_000)),
  // Once, and then nothing more: what so many endpoints cost.
  'five-thousand-once': once(pods(5000)),
  'ten-thousand-once': once(pods(10_000)),
  'gone-for-ever': listing(() => false),
  'too-many': refuse(429, { 'retry-after': '0' }),
  'too-many-absurd': refuse(429, { 'retry-after': '99999999999' }),
  redirects: (question, response) =>
    refuse(307, { location: `${question.url.pathname}?again=1` })(question, response),
  'line-in-bytes': raw(`${HEAD}${inBytes('{"a":"')}`, () => SPACES, isWatch),
  'list-in-bytes': listing(raw(HEAD, () => SPACES, isList)),
  'events-in-bytes': raw(
    HEAD,
    () => inBytes(event('MODIFIED', podOf('pod-0', '127.0.1.1', { version: (made += 1) }))),
    isWatch,
  ),
  'interim-answers': raw('', () => 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(2000), isWatch),
  'interim-lists': listing(raw('', () => 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(2000), isList)),
  headers: raw('HTTP/1.1 200 OK\r\n', () => 'a:\r\n'.repeat(10_000), isWatch),
  'trailers-in-bytes': raw(`${HEAD}0\r\n`, () => 'a:\r\n'.repeat(10_000), isWatch),
  deep: watches(() => {
    const pod = JSON.stringify({ type: 'ADDED', object: podOf(`d-${(made += 1)}`, ip(made)) });
    return `${pod.replace('"labels":{', `"labels":{"deep":${deep(1_000_000)},`)}\n`;
  }),
  'deep-error': watches(
    () => `{"type":"ERROR","object":{"code":500,"message":${deep(1_000_000)}}}\n`,
  ),
  prototypes: watches(() => {
    const pod = JSON.stringify({ type: 'ADDED', object: podOf('pod-0', '127.0.1.1') });
    return `${pod.replace('"labels":{', '"labels":{"__proto__":{"x":1},"constructor":"c",')}\n`;
  }),
  'slow-bytes': (_, response) => {
    ok(response);
    const timer = setInterval(() => response.write(' '), 1000);
    response.on('close', () => clearInterval(timer));
    return true;
  },
  silent: () => true,
};
