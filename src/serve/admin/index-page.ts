/** What is there, for people who do not know the names of the paths; the paths come in this order. */
const ABOUT: Readonly<Record<string, string>> = {
  '/ui': 'the live page',
  '/metrics': 'metrics for Prometheus',
  '/healthz': 'whether the process answers',
  '/readyz': 'whether it takes requests, and why not',
  '/debug/decisions': 'the last decisions',
  '/debug/explain': 'why a request went to its endpoint, or was refused: ?id=<request id>',
  '/debug/endpoints': 'each endpoint: its last sample, its load, and whether it is ejected',
  '/debug/waiting': 'the requests that wait at the picker, in sums',
  '/debug/headroom': 'how much more the pool can serve',
  '/debug/rules': 'priorities and model rewrites in effect',
  '/debug/plugins/state': 'the plugins that run, with what they say of themselves',
  '/debug/scheduler': 'what decides: the profiles, or a scheduler in their place',
  '/debug/shadows': 'how the configurations that look on (--shadow) compare',
  '/debug/promotion': 'which of them decides, and for how many requests',
  '/debug/replicas': 'the other pickers that share with this one',
  '/debug/live': 'the messages of the live page, as server-sent events',
  '/debug/pprof/': 'which profiles of the process there are',
  '/debug/pprof/profile': 'what takes CPU time in the next 30 s, for the tools of a browser',
  '/debug/pprof/heap': 'what is allocated in the next 5 s and kept',
};

const ORDER = Object.keys(ABOUT);

/** The paths of a port for people. */
export interface IndexPage {
  readonly contentType: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * The paths of the port, as links for browsers and as lines for terminals. It holds nothing of the
 * picker, so that all may read it.
 */
export function indexPage(paths: readonly string[], accept: string | undefined): IndexPage {
  const rows = paths
    .toSorted((a, b) => placeOf(a) - placeOf(b))
    .map((path) => [path, ABOUT[path] ?? ''] as const);
  if (accept?.includes('text/html') === true) {
    const headers = {
      vary: 'accept',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    };
    return { contentType: 'text/html; charset=utf-8', body: htmlOf(rows), headers };
  }
  const width = Math.max(...paths.map(({ length }) => length));
  const lines = rows.map(([path, about]) => `${path.padEnd(width)}  ${about}`.trimEnd());
  return {
    contentType: 'text/plain; charset=utf-8',
    body: `Pointsman, an endpoint picker\n\n${lines.join('\n')}\n`,
    headers: { vary: 'accept' },
  };
}

/** Paths without words come last, in their own order. */
function placeOf(path: string): number {
  const place = ORDER.indexOf(path);
  return place === -1 ? ORDER.length : place;
}

function htmlOf(rows: readonly (readonly [path: string, about: string])[]): string {
  const items = rows.map(
    ([path, about]) => `<li><a href="${path}">${path}</a>${about === '' ? '' : `: ${about}`}</li>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Pointsman</title>
</head>
<body>
<h1>Pointsman, an endpoint picker</h1>
<ul>
${items.join('\n').replaceAll('<request id>', '&lt;request id&gt;')}
</ul>
</body>
</html>
`;
}
